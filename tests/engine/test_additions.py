"""The method `adds`: a name that a release lacks is there, means one thing everywhere, and is gone after a revert."""

from __future__ import annotations

import importlib
import pickle
import sys
import types

import pytest

from hotfix.engine.ledger import State
from hotfix.errors import Refusal
from hotfix.fix import Fix
from hotfix.patching.journal import Journal
from hotfix.session import Session
from hotfix.versions.judgement import Verdict
from hotfix.versions.verdict import judge
from tests.hostile.conftest import Lab, handled, lab, said

__all__ = ["lab"]

LEAF = """
__all__ = ["present"]
TABLE = {"here": 1}


def present():
    return "present"


class Layer:
    def forward(self, x):
        return x


class Deep(Layer):
    pass
"""

# As transformers' packages: a module of its own kind that imports the module of a name when it is asked for the name.
LAZY = """
import importlib, sys, types

class Lazy(types.ModuleType):
    def __getattr__(self, name):
        if name not in self._class_to_module:
            raise AttributeError(name)
        value = getattr(importlib.import_module("toys." + self._class_to_module[name]), name)
        setattr(self, name, value)
        return value

module = Lazy(__name__)
module.__dict__.update(__path__=__path__, __file__=__file__, __spec__=__spec__, __version__="1.0")
module._class_to_module = {"present": "toy"}
sys.modules[__name__] = module
"""


def absent():
    """What the release lacks."""
    return "absent"


class Gone:
    """A class that the release lacks."""


def missing_function(lab: Lab, **exported: str) -> Fix:
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:absent", exported_by=tuple(exported.values()))(absent)
    return fix


@pytest.fixture(autouse=True)
def their_own_names():
    """An object is of the module that it was added to: for the next test they are of this one again."""
    yield
    for one in (absent, Gone):
        one.__module__, one.__qualname__ = __name__, one.__name__


def test_a_function_is_added_once_listed_and_pickled_and_taken_away(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    session = lab.session(missing_function(lab))
    before = set(vars(toy))
    assert said(handled(session)) == [("broken", "applied")]
    assert toy.absent() == "absent"
    assert toy.absent.__module__ == "toys.toy"
    assert pickle.loads(pickle.dumps(toy.absent)) is toy.absent
    assert toy.__all__ == ["present", "absent"]
    importlib.reload(toy)
    assert said(handled(session)) == [("broken", "applied")]  # by us, and once
    assert toy.__all__ == ["present", "absent"]
    assert session.journal.uninstall() == []
    assert vars(toy).keys() == before
    assert toy.__all__ == ["present"]
    with pytest.raises(AttributeError):
        toy.absent()


def test_what_the_release_has_is_left_alone(lab: Lab) -> None:
    toy = lab.module(text=LEAF + "\n\ndef absent():\n    return 'theirs'\n")
    assert said(handled(lab.session(missing_function(lab)))) == [("fixed", "skipped")]
    assert toy.absent() == "theirs"


def test_what_was_put_there_at_run_time_is_left_alone(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    vars(toy)["absent"] = "theirs"
    (outcome,) = handled(lab.session(missing_function(lab)))
    assert outcome.state is not State.APPLIED
    assert "is there already" in outcome.reason
    assert toy.absent == "theirs"


def test_members_of_classes_and_entries_of_dictionaries_are_added_and_taken_away(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:Layer.absent")(absent)
    fix.adds_made("toys.toy:TABLE['gone']")(lambda module: module.Layer)
    journal = Journal()
    for target in fix.targets:
        assert "was added, with its old meaning" in journal.install(fix, target, toy)
        assert journal.is_in_place(target)
        assert journal.replaced_since(target, "toys.toy") is None
    assert toy.Deep.absent() == "absent"
    assert toy.Layer.absent.__qualname__ == "Layer.absent"
    assert toy.TABLE["gone"] is toy.Layer
    assert journal.uninstall() == []
    assert not hasattr(toy.Deep, "absent")
    assert toy.TABLE == {"here": 1}


def test_a_member_that_a_class_inherits_is_not_missing(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:Deep.forward", "toys.toy:TABLE['here']", "toys.toy:Nobody.forward")(absent)
    journal = Journal()
    for target, why in zip(fix.targets, ("is there already", "is there already", "has no Nobody.forward")):
        with pytest.raises(Refusal, match=why):
            journal.install(fix, target, toy)
    assert len(journal) == 0


def test_a_lazy_package_has_the_name_and_imports_its_module_only_when_asked(lab: Lab) -> None:
    lab.write("toys/__init__.py", LAZY)
    lab.write("toys/toy.py", LEAF)
    package = importlib.import_module("toys")
    fix = missing_function(lab, package="toys")
    session = lab.session(fix)
    assert said(handled(session, "toys")) == [("broken", "applied")]
    assert "toys.toy" not in sys.modules
    assert package._class_to_module == {"present": "toy", "absent": "toy"}
    toy = importlib.import_module("toys.toy")
    session.module_imported("toys.toy")
    assert package.absent is toy.absent
    assert session.journal.uninstall() == []
    assert package._class_to_module == {"present": "toy"}
    for module in (package, toy):
        assert not hasattr(module, "absent")


def test_an_ordinary_package_gets_the_object_of_its_module_whichever_comes_first(lab: Lab) -> None:
    lab.write("toys/__init__.py", '__version__ = "1.0"\nfrom .toy import present\n')
    lab.write("toys/toy.py", LEAF)
    package = importlib.import_module("toys")
    fix = missing_function(lab, package="toys")
    journal = Journal()
    for target in sorted(fix.targets, key=lambda one: len(one.module)):  # the package before its module
        journal.install(fix, target, sys.modules[target.module])
    assert package.absent is sys.modules["toys.toy"].absent
    journal.uninstall()
    del sys.modules["toys.toy"]
    (target,) = (one for one in fix.targets if one.module == "toys")
    with pytest.raises(Refusal, match=r"toys\.toy, which has absent, was not imported"):
        journal.install(fix, target, package)


def test_a_module_is_added_to_the_modules_that_are_loaded_and_goes_again(lab: Lab) -> None:
    lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")

    @fix.adds_made("toys:moved")
    def moved(package: types.ModuleType) -> types.ModuleType:
        module = types.ModuleType("toys.moved")
        module.present = sys.modules["toys.toy"].present
        return module

    journal = Journal()
    (target,) = fix.targets
    journal.install(fix, target, sys.modules["toys"])
    assert importlib.import_module("toys.moved").present() == "present"
    journal.uninstall()
    assert "toys.moved" not in sys.modules
    assert not hasattr(sys.modules["toys"], "moved")


def test_a_module_is_missing_where_a_lazy_package_has_no_file_of_it(lab: Lab) -> None:
    fix = lab.fix("a-module", kind="removed-api")
    fix.adds_modules("toys:gone")(lambda package: types.ModuleType("toys.gone"))
    lists = "sys.modules[__name__] = _LazyModule(__name__, __file__, define_import_structure(__file__))"
    for files, verdict in (
        ({"toys": lists}, Verdict.BROKEN),
        ({"toys": lists, "toys.gone": ""}, Verdict.FIXED),
        ({"toys": "", "toys.gone": ""}, Verdict.BROKEN),  # it does not say that it has one
        ({"toys": "from . import gone"}, Verdict.FIXED),
    ):
        assert judge(fix, fix.targets[0], files.get).verdict is verdict, files


def test_two_fixes_cannot_add_one_name(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    one, other = missing_function(lab), lab.fix("another", kind="removed-api")
    other.adds("toys.toy:absent")(Gone)
    journal = Journal()
    journal.install(one, one.targets[0], toy)
    with pytest.raises(Refusal, match="a-name and another cannot both add absent"):
        journal.install(other, other.targets[0], toy)
    assert toy.absent() == "absent"


def test_a_name_that_somebody_has_changed_since_is_theirs(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = missing_function(lab)
    session: Session = lab.session(fix)
    handled(session)
    vars(toy)["absent"] = "theirs"
    since = session.journal.replaced_since(fix.targets[0], "toys.toy")
    assert since is not None
    assert "another object since" in since
    (stranded,) = session.journal.uninstall()
    assert stranded.reason == "absent is another object since"
    assert toy.absent == "theirs"
    vars(toy)["absent"] = absent
    assert session.journal.uninstall() == []
    assert "absent" not in vars(toy)


def test_a_class_of_a_frozen_kind_that_refuses_a_member_keeps_none(lab: Lab) -> None:
    toy = lab.module(text=LEAF)

    class Frozen(type):
        def __setattr__(cls, name, value):
            raise TypeError("frozen")

    toy.Ice = Frozen("Ice", (), {"__module__": "toys.toy"})
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:Ice.absent")(absent)
    journal = Journal()
    with pytest.raises(TypeError, match="frozen"):
        journal.install(fix, fix.targets[0], toy)
    assert len(journal) == 0


@pytest.mark.parametrize("text", ["def absent(:\n", "absent = 1\0\n"], ids=["no Python", "a null byte"])
def test_a_source_that_cannot_be_parsed_lacks_nothing_that_is_known(lab: Lab, text: str) -> None:
    fix = missing_function(lab)
    judgement = judge(fix, fix.targets[0], lambda module: text)
    assert judgement.verdict is Verdict.UNKNOWN
    assert "is not Python that can be read here" in judgement.reason
