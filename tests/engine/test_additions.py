"""The method `adds`: a name that a release lacks means the same everywhere, and is gone after a revert.

By default it serves only code that would otherwise end. A fix enabled by `HOTFIX_OPTIN` adds the name for all code.
"""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import sys
import types
from typing import Any

import pytest

from hotfix.engine.ledger import State
from hotfix.errors import Refusal
from hotfix.fix import Fix
from hotfix.patching import restoring
from hotfix.patching.hints import Hints
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

# Like transformers' packages: a special module type that imports the module of a name when the name is looked up.
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
    """The names that the release lacks."""
    return "absent"


class Gone:
    """A class that the release lacks."""


def missing_function(lab: Lab, **exported: str) -> Fix:
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:absent", exported_by=tuple(exported.values()))(absent)
    return fix


@pytest.fixture(autouse=True)
def their_own_names():
    """An object belongs to the module that it was added to: reset them to this module for the next test."""
    yield
    for kind in (absent, Gone):
        kind.__module__, kind.__qualname__ = __name__, kind.__name__


def run(text: str) -> dict[str, Any]:
    """The names of a module with this source, after its execution."""
    names: dict[str, Any] = {"__name__": "a_program"}
    exec(text, names)
    return names


def test_a_name_is_there_for_code_that_would_end_and_for_nobody_else(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    session = lab.session(missing_function(lab))
    before = dict(vars(toy))
    assert said(handled(session)) == [("broken", "applied")]
    assert toy.absent() == "absent"
    pickled = pickle.dumps(toy.absent)
    again = pickle.loads(pickled)
    assert again is toy.absent
    plain = "from toys.toy import absent"
    assert run(plain)["absent"] is again
    assert run(f"try:\n    {plain}\nexcept ImportError:\n    absent = None\n")["absent"] is None
    assert run("import toys.toy as toy\ntry:\n    toy.absent\nexcept AttributeError:\n    gone = 1\n")["gone"] == 1
    assert "absent" not in run("from toys.toy import *")
    assert not hasattr(toy, "absent")
    assert getattr(toy, "absent", None) is None
    assert "absent" not in dir(toy)
    assert vars(toy) == before
    assert session.journal.uninstall() == []
    assert type(toy) is types.ModuleType
    with pytest.raises(AttributeError) as caught:
        toy.absent()
    assert str(caught.value) == "module 'toys.toy' has no attribute 'absent'"


def test_a_name_that_the_module_itself_answers_for_is_the_modules(lab: Lab) -> None:
    toy = lab.module(text=LEAF + "\n\ndef __getattr__(name):\n    return f'their {name}'\n")
    session = lab.session(missing_function(lab))
    handled(session)
    assert run("from toys.toy import absent")["absent"] == "their absent"
    assert toy.absent == "their absent"
    assert hasattr(toy, "absent")


def test_a_module_that_somebody_gives_another_class_stays_usable(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    session = lab.session(missing_function(lab))
    handled(session)

    base: Any = type(toy)

    class Shim(base):
        def __getattr__(self, name):
            if name == "theirs":
                return 1
            raise AttributeError(name)

    toy.__class__ = Shim
    assert toy.theirs == 1
    assert toy.absent() == "absent"
    assert session.journal.uninstall() == []
    assert type(toy) is Shim
    assert toy.theirs == 1
    assert not hasattr(toy, "absent")


def test_a_member_of_a_class_is_there_for_code_that_would_end(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds_made("toys.toy:Layer.size")(lambda module: property(lambda self: 5))
    fix.adds_made("toys.toy:Layer.static")(lambda module: staticmethod(lambda: "static"))
    fix.adds("toys.toy:Layer.absent")(lambda self: self)
    session = lab.session(fix)
    handled(session)
    layer = toy.Deep()
    assert layer.size == 5
    assert layer.absent() is layer
    assert toy.Layer.static() == "static"
    for subject in (layer, toy.Deep, toy.Layer):
        assert not hasattr(subject, "size")
        assert getattr(subject, "static", None) is None
    layer.size = 7
    assert layer.size == 7
    for subject, text in ((layer, "'Deep' object has no attribute 'static'"), (toy.Deep, "type object 'Deep' has")):
        try:
            subject.static()
        except AttributeError as error:
            said = str(error)
        assert said.startswith(text)

    base: Any = toy.Layer

    class Own(base):
        def __getattr__(self, name):
            return f"own {name}"

    assert Own().size == "own size"
    assert session.journal.uninstall() == []
    assert vars(toy.Layer).keys().isdisjoint({"size", "static", "absent"})


def test_a_module_is_there_for_imports_that_would_fail(lab: Lab) -> None:
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
    for statement in ("import toys.moved", "from toys import moved", "from toys.moved import present"):
        assert run(f"try:\n    {statement}\nexcept ImportError:\n    gone = 1\n")["gone"] == 1
    assert importlib.util.find_spec("toys.moved") is None
    assert "toys.moved" not in sys.modules
    assert run("from toys.moved import present")["present"]() == "present"
    assert run("import toys.moved as moved")["moved"].present() == "present"
    assert journal.uninstall() == []
    assert "toys.moved" not in sys.modules
    assert not hasattr(sys.modules["toys"], "moved")
    assert importlib.util.find_spec("toys.moved") is None


def test_a_lazy_package_gives_the_name_to_code_that_would_end(lab: Lab) -> None:
    lab.write("toys/__init__.py", LAZY)
    lab.write("toys/toy.py", LEAF)
    package = importlib.import_module("toys")
    session = lab.session(missing_function(lab, package="toys"))
    assert said(handled(session, "toys")) == [("broken", "applied")]
    assert not hasattr(package, "absent")
    assert "toys.toy" not in sys.modules
    toy = importlib.import_module("toys.toy")
    session.module_imported("toys.toy")
    assert run("from toys import absent")["absent"] is toy.absent
    assert run("from toys import present")["present"] is toy.present
    assert session.journal.uninstall() == []
    with pytest.raises(ImportError):
        run("from toys import absent")


def test_names_and_hints_leave_a_module_as_it_was_in_any_order(lab: Lab) -> None:
    restoring.prepare()
    for first in ("hints", "names"):
        toy = types.ModuleType("toys.toy")
        hints, other, value = Hints(), restoring.Restored("other", 1), restoring.Restored("gone", 2)
        hints.put(toy, {"hinted": "a line"})
        restoring.put(toy, "gone", value)
        restoring.put(toy, "other", other)
        assert toy.gone == 2
        if first == "hints":
            hints.clear()
        for name, descriptor in (("gone", value), ("other", other)):
            restoring.take(toy, name, descriptor)
        hints.clear()
        assert type(toy) is types.ModuleType


def test_a_requested_name_is_added_listed_and_removed(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    session = lab.session(missing_function(lab), optin=("a-name",))
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


def test_names_that_the_release_has_are_left_alone(lab: Lab) -> None:
    toy = lab.module(text=LEAF + "\n\ndef absent():\n    return 'theirs'\n")
    assert said(handled(lab.session(missing_function(lab)))) == [("fixed", "skipped")]
    assert toy.absent() == "theirs"


def test_functions_replaced_at_run_time_are_left_alone(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    vars(toy)["absent"] = "theirs"
    (outcome,) = handled(lab.session(missing_function(lab)))
    assert outcome.state is not State.APPLIED
    assert "already" in outcome.reason
    assert toy.absent == "theirs"


def test_members_of_classes_and_entries_of_dictionaries_are_added_and_taken_away(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:Layer.absent")(absent)
    fix.adds_made("toys.toy:TABLE['gone']")(lambda module: module.Layer)
    journal = Journal()
    for target in fix.targets:
        assert "was added" in journal.install(fix, target, toy, plainly=True)
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


def test_a_lazy_package_has_the_name_and_imports_its_module_on_access(lab: Lab) -> None:
    lab.write("toys/__init__.py", LAZY)
    lab.write("toys/toy.py", LEAF)
    package = importlib.import_module("toys")
    fix = missing_function(lab, package="toys")
    session = lab.session(fix, optin=("a-name",))
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
    for target in sorted(fix.targets, key=lambda place: len(place.module)):  # the package comes before its module
        journal.install(fix, target, sys.modules[target.module], plainly=True)
    assert package.absent is sys.modules["toys.toy"].absent
    journal.uninstall()
    del sys.modules["toys.toy"]
    (target,) = (target for target in fix.targets if target.module == "toys")
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
    journal.install(fix, target, sys.modules["toys"], plainly=True)
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
        ({"toys": "", "toys.gone": ""}, Verdict.BROKEN),  # it does not list the name
        ({"toys": "from . import gone"}, Verdict.FIXED),
    ):
        assert judge(fix, fix.targets[0], files.get).verdict is verdict, files


def test_two_fixes_cannot_add_one_name(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    first, other = missing_function(lab), lab.fix("another", kind="removed-api")
    other.adds("toys.toy:absent")(Gone)
    journal = Journal()
    journal.install(first, first.targets[0], toy)
    with pytest.raises(Refusal, match="a-name and another cannot both add absent"):
        journal.install(other, other.targets[0], toy)
    assert toy.absent() == "absent"


def test_a_name_that_somebody_has_changed_since_is_theirs(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = missing_function(lab)
    session: Session = lab.session(fix, optin=("a-name",))
    handled(session)
    vars(toy)["absent"] = "theirs"
    since = session.journal.replaced_since(fix.targets[0], "toys.toy")
    assert since is not None
    assert "another object has replaced it since" in since
    (stranded,) = session.journal.uninstall()
    assert "has replaced absent" in stranded.reason
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
    assert fix.targets[0].module in judgement.reason


def test_a_restored_key_is_removed_with_its_dictionary(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    table = toy.TABLE
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds_made("toys.toy:TABLE['gone']")(lambda module: module.Layer)
    fix.adds_made("toys.toy:TABLE['gone_too']")(lambda module: module.Deep)
    journal = Journal()
    for target in fix.targets:
        assert "would crash" in journal.install(fix, target, toy)
        assert journal.replaced_since(target, "toys.toy") is None
    assert toy.TABLE["gone"] is toy.Layer
    assert table == toy.TABLE
    toy.TABLE["theirs"] = 2
    assert journal.uninstall() == []
    assert toy.TABLE is table
    assert table == {"here": 1, "theirs": 2}


def test_a_dictionary_that_others_may_hold_is_left_alone(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    table = toy.TABLE
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds_made("toys.toy:TABLE['gone']")(lambda module: module.Layer)
    with pytest.raises(Refusal, match="imported before hotfix, and others may hold TABLE"):
        Journal().install(fix, fix.targets[0], toy, late=True)
    assert toy.TABLE is table


def test_a_dictionary_that_somebody_has_exchanged_since_is_theirs(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds_made("toys.toy:TABLE['gone']")(lambda module: module.Layer)
    journal = Journal()
    journal.install(fix, fix.targets[0], toy)
    toy.TABLE = {"other": 1}
    (stranded,) = journal.uninstall()
    assert "has replaced TABLE" in stranded.reason
    assert toy.TABLE == {"other": 1}


def test_a_getattr_for_unknown_names_is_added_plainly(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds_made("toys.toy:Layer.__getattr__")(lambda module: lambda self, name: f"no {name}")
    journal = Journal()
    journal.install(fix, fix.targets[0], toy)
    assert toy.Layer().anything == "no anything"
    journal.uninstall()
    assert not hasattr(toy.Layer(), "anything")


def test_a_part_that_changes_a_running_program_stays_opt_in(lab: Lab) -> None:
    toy = lab.module(text=LEAF)
    fix = lab.fix("a-name", kind="removed-api")
    fix.adds("toys.toy:absent")(absent)
    fix.accompanies("toys.toy:present", optin="it changes a running program")(lambda original: lambda: "changed")
    for asked_for, said_by_present in (((), "present"), (("a-name",), "changed")):
        session = lab.session(fix, optin=asked_for)
        handled(session)
        assert toy.present() == said_by_present
        session.journal.uninstall()


def test_a_module_with_a_class_of_its_own_has_no_other_attributes() -> None:
    plain, ours = types.ModuleType("toy"), types.ModuleType("toy")
    restoring.put(ours, "gone", restoring.Restored("gone", value=7, target="toy:gone"))
    assert not hasattr(ours, "__module__")
    with pytest.raises(AttributeError, match="module 'toy' has no attribute '__module__'"):
        assert ours.__module__
    assert (type(ours).__module__, repr(type(ours))) == (type(plain).__module__, repr(type(plain)))
    ours.__module__ = "own"
    assert ours.__module__ == "own"
