"""Changes to functions: which code runs then, what the report says, and that a revert restores the identical objects.

All in one process. tests/engine/test_patching.py covers the same through imports; test_refusals.py covers refusals.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import inspect
import sys
import traceback
import types
from typing import Any, Optional, cast

import pytest
import wrapt

from hotfix.errors import Refusal
from hotfix.fix import Fix, Target
from hotfix.observing import edit as counting
from hotfix.patching import code, compiled, live, standing
from hotfix.patching.journal import Journal
from tests.facts import lacking
from tests.hostile.conftest import Lab, lab

__all__ = ["lab"]

TEXT = '''
import dataclasses
import functools
import os.path

LIMIT = 3


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def scale(x, factor=2):
    """Scale x."""
    return x + factor


def plain(): pass


class Layer:
    @staticmethod
    def still(x):
        return x

    @classmethod
    def named(cls, x):
        return cls.__name__ * x

    @property
    def size(self):
        return 2

    @size.setter
    def size(self, value):
        vars(self)["set_to"] = value

    @logged
    def forward(self, x):
        return x

    @logged
    def other(self, x):
        return x


@dataclasses.dataclass
class Row:
    width: int = 1

    def area(self):
        return self.width
'''


# Names of the module in which a replacement runs; their different meaning here does not matter.
LIMIT = first = second = cast(Any, None)


def put(journal: Journal, fix: Fix, toy: types.ModuleType, late: bool = False) -> list[str]:
    return [journal.install(fix, target, toy, late) for target in fix.targets]


def taken_back(journal: Journal, toy: types.ModuleType, before: dict[str, Any]) -> bool:
    return journal.uninstall() == [] and vars(toy) == before and len(journal) == 0


def code_of(toy: types.ModuleType, *names: str) -> list[types.CodeType]:
    functions = [live.resolve(toy, name).function for name in names]
    return [function.__code__ for function in functions if function is not None]


# -- replacing -----------------------------------------------------------------------------------------------------


def test_a_replacement_runs_in_their_module_under_the_name_of_the_function(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-replacement")

    @fix.replaces("toys.toy:scale")
    def ours(x, factor=2):
        if x is None:
            raise ValueError(f"{[LIMIT for _ in (1,)]} {min(LIMIT, 9)}")
        return x * factor

    function, body = toy.scale, toy.scale.__code__
    assert [lacking(said, "body was replaced", "every copy") for said in put(journal, fix, toy)] == [[]]
    assert toy.scale is function
    assert function(5) == 10
    assert function.__code__.co_name == "scale"
    if sys.version_info >= (3, 11):
        assert function.__code__.co_qualname == "scale"
    with pytest.raises(ValueError, match=r"\[3\] 3") as caught:
        function(None)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "scale")
    journal.uninstall()
    assert function.__code__ is body


def test_a_replacement_that_does_not_fit_is_refused_with_the_difference(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    other, needy = lab.fix("of-another-kind"), lab.fix("needy")
    other.replaces("toys.toy:scale")(lambda x, *, factor: x)
    with pytest.raises(Refusal) as caught:
        put(Journal(), other, toy)
    assert lacking(str(caught.value), "(x, factor=2)", "(x, *, factor)") == []

    @needy.replaces("toys.toy:scale")
    def ours(x, factor=2):
        def inner():
            return second(x)

        return inner() + first + LIMIT + len(x)

    with pytest.raises(Refusal) as caught:
        put(Journal(), needy, toy)
    assert lacking(str(caught.value), "first, second", "toys.toy") == []
    assert code.global_names(ours.__code__) == {"first", "second", "LIMIT", "len"}


def times(x, factor=2):
    return x * factor


def test_a_replacement_is_counted_together_with_its_counter(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, journal, fix, counts = lab.module(text=TEXT), Journal(), lab.fix("a-replacement"), lab.fix("counts")
    seen: list[Any] = []
    vars(toy)["a_test"] = lambda *args: seen.append(args)

    fix.replaces("toys.toy:scale")(times)
    put(journal, fix, toy)
    target = counting.target("toys.toy", "scale", "a_test", ("x", "factor"))
    journal.install(counts, target, toy)
    assert (toy.scale(5), seen) == (10, [(5, 2)])
    journal.uninstall({"counts"})
    assert (toy.scale(5), seen) == (10, [(5, 2)])
    edits = lab.fix("edits")
    edits.edits("toys.toy:scale", old="x * factor", new="x - factor")
    with pytest.raises(Refusal, match=r"^a-replacement and edits cannot both change scale$"):
        put(journal, edits, toy)


def test_the_signature_of_a_wrapped_function_is_not_that_of_its_wrapper(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-replacement")
    toy.scale.__wrapped__ = lambda other: other
    fix.replaces("toys.toy:scale")(times)
    assert code.shape(toy.scale) == [("x", inspect.Parameter.POSITIONAL_OR_KEYWORD, False), ("factor", 1, True)]
    del toy.scale.__wrapped__
    put(journal, fix, toy)
    toy.scale = toy.plain
    since = journal.replaced_since(fix.targets[0], "toys.toy")
    assert lacking(since, "replaced since", live.place_of(toy.plain)) == []
    journal.uninstall()


# -- editing -------------------------------------------------------------------------------------------------------


def test_new_code_has_the_line_of_the_old_code(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("an-edit")

    @fix.edits("toys.toy:scale")
    def edit(node):
        if isinstance(node, ast.Return):
            return code.statements("y = x * factor\nassert y\nreturn y", at=node)
        return None

    first = toy.scale.__code__.co_firstlineno
    assert [lacking(said, "body was edited", "every copy") for said in put(journal, fix, toy)] == [[]]
    assert toy.scale(5) == 10
    with pytest.raises(AssertionError) as caught:
        toy.scale(0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == (toy.__file__, first + 2, "return x + factor")
    columns = [place[2:] for place in getattr(toy.scale.__code__, "co_positions", list)() if place[0] == first + 2]
    assert set(columns) <= {(4, 21)}


def test_an_edit_may_take_statements_away_or_change_one_into_another(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    for edit, expected in (
        (lambda node: [] if isinstance(node, ast.Return) else None, None),
        (lambda node: ast.Mult() if isinstance(node, ast.Add) else None, 10),
        (lambda node: node.left if isinstance(node, ast.BinOp) else None, 5),
    ):
        journal, fix = Journal(), lab.fix("an-edit")
        fix.edits("toys.toy:scale")(edit)
        put(journal, fix, toy)
        assert toy.scale(5) == expected
        journal.uninstall()
        assert toy.scale(5) == 7


def test_an_edit_that_matches_more_or_less_often_than_it_says_is_refused(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    for kind, times in ((ast.Name, 2), (ast.Lambda, 0)):
        fix = lab.fix("an-edit")
        fix.edits("toys.toy:scale")(lambda node, kind=kind: node if isinstance(node, kind) else None)
        with pytest.raises(Refusal, match=f"^the pattern of the edit matches {times} times, not 1$"):
            put(Journal(), fix, toy)
    twice = lab.fix("twice")
    twice.edits("toys.toy:scale", count=2)(lambda node: ast.Constant(4) if isinstance(node, ast.Name) else None)
    journal = Journal()
    put(journal, twice, toy)
    assert toy.scale(5) == 8
    journal.uninstall()


def test_an_edit_that_fits_and_changes_nothing_is_refused(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    conditions: tuple[Any, ...] = ({}, {"when": "x == 5"})
    for condition in conditions:
        fix = lab.fix("an-edit")
        fix.edits("toys.toy:scale", **condition)(lambda node: node if isinstance(node, ast.FunctionDef) else None)
        with pytest.raises(Refusal, match="matches 0 times" if condition else "changes nothing"):
            put(Journal(), fix, toy)
        assert toy.scale(5) == 7


def test_an_edit_of_code_that_nothing_reaches_is_refused(lab: Lab) -> None:
    dead = lab.module("dead", "def scale(x, factor=2):\n    return x\n    x + factor\n")
    fix = lab.fix("an-edit")
    fix.edits("toys.dead:scale", old="x + factor", new="x * factor")
    with pytest.raises(Refusal, match="changes nothing"):
        put(Journal(), fix, dead)
    assert dead.scale(5) == 5


def test_an_edit_that_changes_the_arguments_is_refused(lab: Lab) -> None:
    toy = lab.module("kinds", KINDS)
    for name in ("first", "word"):
        fix = lab.fix(f"of-{name}")

        @fix.edits("toys.kinds:many")
        def edit(node, name=name):
            return ast.arg("another") if isinstance(node, ast.arg) and node.arg == name else None

        with pytest.raises(Refusal, match=r"^the edit would change the arguments of the function or what it closes o"):
            put(Journal(), fix, toy)


def in_the_decorator(lab: Lab, new: str, name: str = "Layer.forward", decorator: str = "logged") -> Fix:
    fix = lab.fix("a-decorator")
    fix.edits(f"toys.toy:{name}", decorator=f"toys.toy:{decorator}", old="function(*args, **kwargs)", new=new)
    return fix


def test_the_wrapper_of_one_function_is_edited_and_those_of_others_are_not(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    fix = in_the_decorator(lab, new="[function(*args, **kwargs)]")
    before = code_of(toy, "Layer.forward", "Layer.other", "logged"), toy.Layer.forward, toy.Layer.forward.__code__
    said = put(journal, fix, toy)
    assert [lacking(text, "logged", "was edited", "every copy") for text in said] == [[]]
    layer = toy.Layer()
    assert (layer.forward(3), layer.other(3)) == ([3], 3)
    assert toy.Layer.forward is before[1]
    assert journal.uninstall() == []
    assert (code_of(toy, "Layer.forward", "Layer.other", "logged"), *before[1:]) == before
    assert toy.Layer.forward.__code__ is before[2]
    other = in_the_decorator(lab, new="min(*args, **kwargs)")  # which closes over nothing
    with pytest.raises(Refusal, match=r"^the edit would change the arguments of wrapper or what it closes over$"):
        put(Journal(), other, toy)
    for name in ("scale", "plain"):
        with pytest.raises(Refusal, match=f"^logged has put nothing around {name}$"):
            put(Journal(), in_the_decorator(lab, new="function()", name=name), toy)
    nothing = in_the_decorator(lab, new="function()", decorator="LIMIT")
    with pytest.raises(Refusal, match=r"^toys\.toy:LIMIT is not a Python function that was imported$"):
        put(Journal(), nothing, toy)


def test_an_edit_of_a_wrapper_keeps_the_edits_that_its_decorator_had(lab: Lab) -> None:
    toy, journal, first = lab.module(text=TEXT), Journal(), lab.fix("a-first")
    first.edits("toys.toy:logged", old="return function(*args, **kwargs)", new="return (function(*args, **kwargs), 1)")
    put(journal, first, toy)
    toy.Layer.forward = toy.logged(toy.Layer.forward.__wrapped__)  # as if the module was imported now
    put(journal, in_the_decorator(lab, new="[function(*args, **kwargs)]"), toy)
    assert (toy.Layer().forward(3), toy.Layer().other(3)) == (([3], 1), 3)
    journal.uninstall()
    assert toy.Layer().forward(3) == (3, 1), "this wrapper was made with the first edit"


@pytest.mark.parametrize("late", [True, False])
def test_functions_that_a_changed_one_has_made_are_counted(lab: Lab, late: bool) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-maker")
    elsewhere = toy.logged(abs)  # not to be seen from the module
    fix.edits("toys.toy:logged", old="return wrapper", new="return [wrapper]")
    (said,) = put(journal, fix, toy, late)
    rest = f" Functions that it created earlier keep the old code: {3 if late else 2}."
    assert lacking(said, "body was edited", "every copy", rest) == []
    assert put(journal, fix, toy, late) == [said]  # it is there already
    assert elsewhere(-1) == 1
    assert isinstance(toy.logged(abs), list)
    journal.uninstall()


def test_variables_of_a_comprehension_are_not_definitions() -> None:
    namespace: dict[str, Any] = {}
    exec(
        "def made(x):\n    return [(lambda: one) for one in x]\ndef none(x):\n    return {one for one in x}", namespace
    )
    kept = namespace["made"]([1, 2])
    assert live.made_by(namespace["made"].__code__) == len(kept) == 2
    assert live.made_by(namespace["none"].__code__) == 0


# -- wrapping ------------------------------------------------------------------------------------------------------


def around(original):
    def wrapper(*args, **kwargs):
        return [original(*args, **kwargs)]

    return wrapper


def test_a_wrapped_function_keeps_its_kind(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    fix, layer = lab.fix("a-wrap"), toy.Layer()
    fix.wraps("toys.toy:Layer.still", "toys.toy:Layer.named", "toys.toy:Layer.size", "toys.toy:scale")(around)
    before = dict(vars(toy.Layer)), toy.scale
    assert put(journal, fix, toy) == ["It was wrapped."] * 4
    assert (toy.Layer.still(1), layer.still(1), toy.Layer.named(2)) == ([1], [1], ["LayerLayer"])
    assert (layer.size, toy.scale(5)) == ([2], [7])
    layer.size = 4
    assert vars(layer) == {"set_to": 4}
    kinds = [type(vars(toy.Layer)[name]) for name in ("still", "named", "size")]
    assert kinds == [staticmethod, classmethod, property]
    assert (toy.scale.__name__, toy.scale.__doc__, toy.scale.__wrapped__) == ("scale", "Scale x.", before[1])
    assert str(inspect.signature(toy.scale)) == "(x, factor=2)"
    for target in fix.targets:
        assert journal.is_in_place(target)
        assert journal.replaced_since(target, "toys.toy") is None
        here = live.resolve(toy, target.qualname).raw
        assert journal.has_installed(live.below_descriptor(here))
    assert not journal.has_installed(before[1])
    assert journal.uninstall() == []
    assert (dict(vars(toy.Layer)), toy.scale) == before


def test_attributes_of_the_original_are_not_those_of_the_wrapper(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    toy.scale.theirs = 1
    fix.wraps("toys.toy:scale")(around)
    put(journal, fix, toy)
    assert set(vars(toy.scale)) == {"__wrapped__", "__signature__"}
    journal.uninstall()


def test_a_wrapper_shows_the_arguments_of_the_original_to_old_code_too(lab: Lab) -> None:
    """``getfullargspec`` does not look below a wrapper; programs keep only the arguments that it names."""
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    ways = (
        inspect.getfullargspec,
        inspect.signature,
        lambda function: inspect.signature(function, follow_wrapped=False),
    )
    before = [[way(owner) for way in ways] for owner in (toy.scale, toy.Layer.named, toy.Layer.still)]
    fix.wraps("toys.toy:Layer.still", "toys.toy:Layer.named", "toys.toy:scale")(around)
    put(journal, fix, toy)
    assert [[way(owner) for way in ways] for owner in (toy.scale, toy.Layer.named, toy.Layer.still)] == before
    journal.uninstall()


def test_a_docstring_and_an_attribute_that_others_set_on_the_wrapper_stay_after_it(lab: Lab) -> None:
    """A decorator of a class may describe the constructor that the class inherits."""
    toy, journal, first, second = lab.module(text=TEXT), Journal(), lab.fix("a-wrap"), lab.fix("b-wrap")
    original = toy.scale
    first.wraps("toys.toy:scale")(around)
    second.wraps("toys.toy:scale")(around)
    put(journal, first, toy)
    toy.scale.__doc__, toy.scale.checked = "Scale x by two.", True
    put(journal, second, toy)
    assert toy.scale is not original
    assert (toy.scale.__doc__, toy.scale.checked) == ("Scale x by two.", True)
    assert journal.uninstall() == []
    assert toy.scale is original
    assert (toy.scale.__doc__, vars(toy.scale)) == ("Scale x by two.", {"checked": True})


def test_a_wrapper_that_takes_other_arguments_is_refused_with_both(lab: Lab) -> None:
    toy, fix = lab.module(text=TEXT), lab.fix("a-wrap")
    fix.wraps("toys.toy:scale")(lambda original: lambda x, other=2: original(x, other))
    with pytest.raises(Refusal) as caught:
        put(Journal(), fix, toy)
    assert lacking(str(caught.value), "(x, factor=2)", "(x, other=2)") == []


class Frozen(type):
    """Classes that refuse to be changed."""

    def __setattr__(cls, name, value):
        raise TypeError("frozen")


def test_copies_are_rebound_and_unreachable_references_are_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    other = types.ModuleType("theirs")
    monkeypatch.setitem(sys.modules, "theirs", other)
    other.copy, other.table = toy.scale, {"scale": toy.scale}
    fix.wraps("toys.toy:scale")(around)
    gc.collect()
    assert [lacking(said, "was wrapped", "rebound.") for said in put(journal, fix, toy, late=True)] == [[]]
    assert other.copy is other.table["scale"] is toy.scale
    journal.uninstall()
    assert other.copy is other.table["scale"] is toy.scale
    refusing = Frozen("Refusing", (), {"__module__": "theirs", "copy": toy.scale})
    other.Refusing, other.Another = refusing, Frozen("Another", (), {"__module__": "theirs", "copy": toy.scale})
    held: list[Any] = [functools.partial(toy.scale, 1), types.MethodType(toy.scale, 3)]
    (said,) = put(journal, fix, toy, late=True)
    assert lacking(said, "4 closures", "the original") == []
    assert [call() for call in held] == [3, 5]
    assert refusing.copy(1) == 3
    journal.uninstall()
    plain = lab.fix("of-plain")  # which nothing else holds
    plain.wraps("toys.toy:plain")(around)
    assert [lacking(said, "was wrapped", "rebound.") for said in put(journal, plain, toy, late=True)] == [[]]
    journal.uninstall()


def test_an_imported_name_is_wrapped_where_it_was_imported_to_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.module("leaf", TEXT)
    toy = lab.module(text="from toys.leaf import scale, Layer\n")
    leaf = sys.modules["toys.leaf"]
    journal, fix, method = Journal(), lab.fix("a-wrap"), lab.fix("a-method")
    fix.wraps("toys.toy:scale")(around)
    assert put(journal, fix, toy, late=True) == ["It was wrapped."]
    assert (toy.scale(5), leaf.scale(5)) == ([7], 7)
    method.wraps("toys.toy:Layer.forward")(around)  # of a class that says which module has it
    (said,) = put(journal, method, toy, late=True)
    assert lacking(said, "was wrapped", "rebound") == []
    assert leaf.Layer().forward(1) == [1]
    assert journal.uninstall() == []
    assert (toy.scale, leaf.Layer().forward(1)) == (leaf.scale, 1)


def test_a_foreign_wrapper_around_ours_keeps_it_and_is_named(lab: Lab) -> None:
    toy, journal, fix, again = lab.module(text=TEXT), Journal(), lab.fix("a-wrap"), lab.fix("again")
    for each in (fix, again):
        each.wraps("toys.toy:scale")(around)
    put(journal, fix, toy)
    inner = toy.scale
    toy.scale = wrapt.FunctionWrapper(inner, around_theirs)
    line = around_theirs.__code__.co_firstlineno
    (stranded,) = journal.uninstall()
    assert lacking(stranded.reason, f"{__file__}:{line}", "around it") == []
    put(journal, again, toy)  # of the same operation, and so below their wrapper
    assert len(journal) == 2
    toy.scale = inner
    journal.uninstall()
    toy.scale = around_theirs
    put(journal, fix, toy)
    toy.scale = abs
    since = journal.replaced_since(fix.targets[0], "toys.toy")
    assert lacking(since, "replaced since", "builtins.builtin_function_or_method") == []
    del toy.scale
    since = journal.replaced_since(fix.targets[0], "toys.toy")
    assert lacking(since, "toys.toy", "no scale") == []
    since = journal.replaced_since(fix.targets[0], "toys.nothing")
    assert lacking(since, "toys.nothing", "not loaded") == []


def test_each_repair_that_cannot_be_reverted_is_reported_and_the_rest_is_reverted(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    cleaned: list[int] = []
    fix.wraps("toys.toy:scale", "toys.toy:Layer.still", "toys.toy:plain")(around)
    fix.cleans_up(lambda: cleaned.append(1))
    put(journal, fix, toy)
    scale, still = toy.scale, vars(toy.Layer)["still"]
    toy.scale = wrapt.FunctionWrapper(scale, around_theirs)
    toy.Layer.still = staticmethod(wrapt.FunctionWrapper(still.__func__, around_theirs))
    stranded = journal.uninstall()
    assert sorted(step.target.qualname for step in stranded) == ["Layer.still", "scale"]
    assert toy.plain() is None
    assert (len(journal), cleaned) == (2, [])  # it is not gone
    toy.scale = scale
    assert [step.target.qualname for step in journal.uninstall()] == ["Layer.still"]
    toy.Layer.still = still
    assert journal.uninstall({"another"}) == []
    assert (len(journal), cleaned) == (1, [])
    assert journal.uninstall() == []
    assert (len(journal), cleaned) == (0, [1])
    assert (toy.scale(5), toy.Layer.still(1)) == (7, 1)


def test_a_target_that_is_no_function_is_named_by_its_type(lab: Lab) -> None:
    toy, fix = lab.module(text=TEXT), lab.fix("of-a-number")
    fix.replaces("toys.toy:LIMIT")(times)
    with pytest.raises(Refusal, match=r"^LIMIT is int, not a Python function$"):
        put(Journal(), fix, toy)


@pytest.mark.parametrize("file", ["site/wrapt/__init__.py", None])
def test_another_wrapt_than_ours_is_named(lab: Lab, monkeypatch: pytest.MonkeyPatch, file: Optional[str]) -> None:
    toy = lab.module(text=TEXT)
    planted(monkeypatch, "wrapt", __file__=file)
    with pytest.raises(ImportError) as caught:
        live.resolve(toy, "scale")
    where = file or "a folder without code"
    assert lacking(str(caught.value), f"wrapt ({where})", "reinstall wrapt>=1.15") == []
    assert caught.value.name == "wrapt"


def around_theirs(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)


def test_where_an_object_was_written() -> None:
    proxy = wrapt.FunctionWrapper(around, around_theirs)
    assert live.place_of(proxy) == f"{__file__}:{around_theirs.__code__.co_firstlineno}"
    assert live.place_of(staticmethod(around)) == f"{__file__}:{around.__code__.co_firstlineno}"
    assert live.place_of(Journal()) == "hotfix.patching.journal.Journal"


# -- the current code --------------------------------------------------------------------------------------------------


def foreign(toy: types.ModuleType, text: str = TEXT, name: str = "scale") -> str:
    return str(standing.foreign(toy, name, text, Journal()))


def test_a_function_of_another_place_or_file_is_somebody_elses(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    line, before = (function.__code__.co_firstlineno for function in (toy.plain, toy.scale))
    assert foreign(toy) == "None"
    toy.scale = toy.plain  # the same file
    assert lacking(foreign(toy), f"{toy.__file__}:{line} in its place") == []
    elsewhere = "\n" * (before - 1) + "def scale(x, factor=2): pass"
    namespace: dict[str, Any] = {}
    exec(compile(elsewhere, "elsewhere.py", "exec"), namespace)
    toy.scale = namespace["scale"]  # the same line
    line = namespace["scale"].__code__.co_firstlineno
    assert lacking(foreign(toy), f"elsewhere.py:{line} in its place") == []
    toy.plain_too, renamed = toy.plain, TEXT.replace("def plain", "def other")
    toy.plain_too.__wrapped__ = None
    assert "Somebody else" in foreign(toy, renamed, "plain")  # the text has none
    toy.scale = functools.partial(toy.plain)
    assert lacking(foreign(toy), "scale is no", "functools.partial") == []
    toy.Layer = type("Layer", (), {})
    assert lacking(foreign(toy, name="Layer"), "Layer is no", "builtins.type") == []


def test_a_layer_is_somebody_elses_unless_a_decorator_in_the_source_explains_it(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    assert foreign(toy, name="Layer.forward") == "None"
    ours = toy.Layer.forward

    def theirs(self, x):
        return ours(self, x)

    toy.Layer.forward = functools.wraps(ours)(theirs)
    line = theirs.__code__.co_firstlineno
    assert lacking(foreign(toy, name="Layer.forward"), f"{__file__}:{line} around it") == []
    explained = TEXT.replace("    @logged\n    def forward", "    @os.path.theirs(1)\n    def forward")
    toy.os = types.SimpleNamespace(path=types.SimpleNamespace(theirs=around))
    inner = ours.__code__.co_firstlineno  # of the layer that the source does not explain
    assert lacking(foreign(toy, explained, "Layer.forward"), f"{toy.__file__}:{inner} around it") == []
    of_class = TEXT.replace("class Layer", "@os.path.theirs\nclass Layer")
    shifted = of_class.replace("\n\n\n@os", "\n\n@os", 1)  # the lines after it stay the same
    assert foreign(toy, shifted, "Layer.forward") == "None"


OF_A_BASE = """
import functools

class Base:
    def __init_subclass__(cls):
        forward = cls.forward

        @functools.wraps(forward)
        def outermost(self, x):
            return forward(self, x)

        cls.forward = outermost


class Layer(Base):
    def forward(self, x):
        return x
"""


def test_a_wrapper_that_a_base_puts_around_a_method_is_not_foreign_and_stays_outermost(lab: Lab) -> None:
    bases = lab.module("bases", OF_A_BASE)
    assert foreign(bases, OF_A_BASE, "Layer.forward") == "None"
    assert "Base has put a wrapper around it" in str(standing.wrapped_by_a_base(bases, "Layer.forward"))
    assert standing.wrapped_by_a_base(lab.module(text=TEXT), "Layer.forward") is None, "a decorator's is not"


def test_code_installed_by_this_journal_is_not_foreign(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    fix.wraps("toys.toy:scale")(around)
    put(journal, fix, toy)
    assert standing.foreign(toy, "scale", TEXT, journal) is None
    assert "Somebody else" in foreign(toy)
    journal.uninstall()


def test_the_methods_that_a_dataclass_makes_are_not_missing_from_its_file(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    assert standing.rewritten(toy, "Row", TEXT, Journal()) is None
    changed = TEXT.replace("return self.width", "return self.width + 1")
    said = str(standing.rewritten(toy, "Row", changed, Journal()))
    assert lacking(said, f"{toy.__file__} is not") == []
    assert said.endswith(".")
    assert not said.endswith("..")
    gone = str(standing.rewritten(toy, "scale", TEXT.replace("def scale", "def other"), Journal()))
    assert lacking(gone, "scale", str(toy.__file__)) == []
    assert lacking(standing.rewritten(toy, "nothing", TEXT, Journal()), "no nothing") == []


# -- counting ----------------------------------------------------------------------------------------------------------

KINDS = '''
def plain(x, y=2):
    return locals()


def local(x):
    y = x + 1
    z = y + 1
    return z


def doubled(x):
    """Says what it does."""
    return x


def only_told():
    """Says what it does."""


def many(first, /, *rest, word, **others):
    return first, rest, word, others


async def later(x):
    return x


class Layer:
    def forward(self, x):
        return x
'''


NESTED = """
class Layer:
    def forward(self, x):
        def forward(self, x):
            return x + 1

        return forward(self, x)
"""


def test_a_function_reports_its_arguments_first(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, journal, fix = lab.module("kinds", KINDS), Journal(), lab.fix("counts")
    seen: list[Any] = []
    vars(toy)["a_test"] = lambda *args: seen.append(args)
    layer, expected = toy.Layer(), {}
    for name, names, others in (
        ("plain", ("x", "y"), ""),
        ("local", ("x",), ""),
        ("doubled", ("x",), ""),
        ("only_told", (), ""),
        ("many", ("first", "word", "rest", "others"), "others"),
        ("later", ("x",), ""),
        ("Layer.forward", ("self", "x"), ""),
    ):
        function = live.resolve(toy, name).function
        assert function is not None
        assert counting.parameters(function) == (names, others)
        target = counting.target("toys.kinds", name, "a_test", names)
        assert (target.module, target.qualname, target.method) == ("toys.kinds", name, "edit")
        assert target.key == f"toys.kinds:{name}"
        expected[name] = function.__doc__, inspect.signature(function)
        journal.install(fix, target, toy)
        assert (function.__doc__, inspect.signature(function)) == expected[name]
    assert toy.plain(1) == {"x": 1, "y": 2}
    assert toy.local(1) == 3
    assert toy.doubled(3) == 3
    assert toy.only_told() is None
    assert toy.many(1, 2, 3, word=4, five=6) == (1, (2, 3), 4, {"five": 6})
    with pytest.raises(StopIteration) as caught:
        toy.later(7).send(None)
    assert caught.value.value == 7
    assert layer.forward(8) == 8
    assert seen == [(1, 2), (1,), (3,), (), (1, 4, (2, 3), {"five": 6}), (7,), (layer, 8)]
    assert journal.uninstall() == []
    toy.plain(9)
    assert len(seen) == 7


def test_a_function_inside_of_another_does_not_tell(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, journal, fix = lab.module("kinds", NESTED), Journal(), lab.fix("counts")
    seen: list[Any] = []
    vars(toy)["a_test"] = lambda *args: seen.append(args)
    journal.install(fix, counting.target("toys.kinds", "Layer.forward", "a_test", ("self", "x")), toy)
    layer = toy.Layer()
    assert layer.forward(2) == 3
    assert seen == [(layer, 2)]
    journal.uninstall()


# -- graphs --------------------------------------------------------------------------------------------------------


def planted(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def test_graphs_are_forgotten_where_there_may_be_some(monkeypatch: pytest.MonkeyPatch) -> None:
    resets: list[int] = []
    dynamo = planted(monkeypatch, "torch._dynamo", reset=lambda: resets.append(1))
    assert compiled.forget_graphs() is True
    assert resets == [1]
    del dynamo.reset  # while torch is being imported
    assert compiled.forget_graphs() is False
    monkeypatch.delitem(sys.modules, "torch._dynamo")
    assert compiled.forget_graphs() is False


def test_a_scripted_function_is_distinguished_from_others(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = lab.module(text=TEXT)
    scale, method, plain = toy.scale, toy.Layer.forward, toy.plain
    planted(
        monkeypatch,
        "torch.jit._state",
        _try_get_jit_cached_function=lambda function: "g" if function is scale else None,
    )
    store = types.SimpleNamespace(type_store={type("Derived", (toy.Layer,), {}): 1, None: 2})
    recursive = planted(monkeypatch, "torch.jit._recursive", concrete_type_store=store)
    assert [compiled.is_scripted(function) for function in (scale, method, plain)] == [True, True, False]
    journal, edits, replaces = Journal(), lab.fix("an-edit"), lab.fix("a-replacement")
    edits.edits("toys.toy:scale", old="x + factor", new="x * factor")
    replaces.replaces("toys.toy:plain")(lambda: None)
    put(journal, edits, toy)
    put(journal, replaces, toy)
    (edit,), (replacement,) = edits.targets, replaces.targets
    assert journal.is_scripted(edit)
    assert not journal.is_scripted(replacement)
    assert not journal.is_scripted(Target("toys.toy", "scale", method="edit"))  # of no operation
    store.type_store = {type("Plain", (), {"plain": plain}): 1}
    assert compiled.is_scripted(plain)
    assert not journal.is_scripted(replacement)  # only the text of an edit differs from the compiled code
    del recursive.concrete_type_store
    assert not compiled.is_scripted(plain)
    monkeypatch.delitem(sys.modules, "torch.jit._state")
    assert not compiled.is_scripted(scale)
    journal.uninstall()


def test_a_replacement_under_a_condition_is_scripted_from_the_releases_file(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = lab.module(text=TEXT)
    journal, fix = Journal(), lab.fix("conditional")
    lab.write("toys/ours.py", "def scale(x, factor=2):\n    return x * factor\n")
    fix.replaces("toys.toy:scale", when="x > 0")(importlib.import_module("toys.ours").scale)
    put(journal, fix, toy)
    assert (toy.scale(5), toy.scale(-5)) == (10, -3)
    assert "x + factor" in inspect.getsource(toy.scale)
    monkeypatch.setattr(compiled, "is_scripted", lambda function: function is toy.scale)
    assert journal.is_scripted(fix.targets[0])
    journal.uninstall()


STALE = (
    "TORCH_CACHING_PRECOMPILE is on: torch may take graphs of unrepaired functions from its cache. Unset it, "
    "or give this patch set a cache of its own (TORCHINDUCTOR_CACHE_DIR)."
)


def test_graphs_of_an_earlier_process_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_CACHING_PRECOMPILE", raising=False)
    monkeypatch.delitem(sys.modules, "torch._dynamo.config", raising=False)
    assert compiled.stale_graphs() is None
    for value, expected in (("0", None), ("1", STALE)):
        monkeypatch.setenv("TORCH_CACHING_PRECOMPILE", value)
        assert compiled.stale_graphs() == expected
    monkeypatch.delenv("TORCH_CACHING_PRECOMPILE")
    config = planted(monkeypatch, "torch._dynamo.config", caching_precompile=True)
    assert compiled.stale_graphs() == STALE
    config.caching_precompile = False
    assert compiled.stale_graphs() is None
    del config.caching_precompile  # as torch had it before 2.8
    assert compiled.stale_graphs() is None


def test_a_lazy_package_whose_module_has_the_name_gets_that_object(lab: Lab) -> None:
    leaf, fix, journal = lab.module(text=TEXT), lab.fix("a-name", kind="removed-api"), Journal()
    package = importlib.import_module("toys")
    fix.exports(("toys:scale", "==1.0"), leaf="toys.toy")
    (target,) = fix.targets
    for plainly in (True, False):
        journal.install(fix, target, package, plainly=plainly)
        assert package.scale is leaf.scale
        assert hasattr(package, "scale") is plainly
        journal.uninstall()
        assert not hasattr(package, "scale")


def test_a_wrapped_forward_has_the_globals_and_the_file_of_the_original(lab: Lab) -> None:
    toy, journal, fix = (
        lab.module("named", "FACTOR = 2\n\ndef forward(x):\n    return x * FACTOR\n"),
        Journal(),
        lab.fix("a-wrap"),
    )
    original = toy.forward

    @fix.wraps("toys.named:forward")
    def plus_one(function: Any) -> Any:
        def double(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) + 1

        return double

    put(journal, fix, toy)
    wrapped = toy.forward
    assert wrapped is not original
    assert wrapped.__globals__ is vars(toy)
    assert wrapped.__code__.co_filename == original.__code__.co_filename
    assert wrapped(3) == 7
    names = {**wrapped.__globals__, "FACTOR": 10}
    copied = types.FunctionType(wrapped.__code__, names, wrapped.__name__, wrapped.__defaults__, wrapped.__closure__)
    assert copied(3) == 30, "a copy that looks up names elsewhere is one of the original"
    journal.uninstall()


@pytest.mark.parametrize("name", ["forward", "double"])
def test_a_handler_around_a_wrapped_function_counts_as_near_whatever_globals_the_wrapper_has(
    lab: Lab, name: str
) -> None:
    toy = lab.module("near", f"def {name}(x):\n    return x * 2\n")
    journal, fix = Journal(), lab.fix("a-wrap")
    fix.wraps(f"toys.near:{name}", on_error=("TypeError: …",))(lambda original: lambda *args, **kwargs: "repaired")
    put(journal, fix, toy)
    errors = []

    def prepared(function: Any) -> Any:
        try:
            return function(1, length=3)
        except Exception as error:
            errors.append(error)
            return function(1)

    assert prepared(getattr(toy, name)) == 2
    assert len(errors) == 1
    assert getattr(toy, name)(1, length=3) == "repaired"
    journal.uninstall()
