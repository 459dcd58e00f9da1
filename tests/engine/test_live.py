"""The holders of a function are found, and little is kept of a changed function."""

from __future__ import annotations

import ast
import gc
import sys
import types
from typing import Any

import pytest

from hotfix._support import memo
from hotfix.patching import live
from hotfix.patching.journal import Journal
from tests.hostile.conftest import Lab, lab

__all__ = ["lab"]

TEXT = """
def scale(x, factor=2):
    if factor > 3:
        return x * factor
    return factor
"""


@pytest.fixture
def holders(monkeypatch: pytest.MonkeyPatch) -> tuple[types.ModuleType, types.ModuleType]:
    first, other = types.ModuleType("one_holder"), types.ModuleType("other_holder")
    for module in (first, other):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return first, other


@pytest.mark.parametrize("frozen", [False, True], ids=["collected", "frozen"])
@pytest.mark.parametrize("deep", [False, True], ids=["in modules", "deeper, too"])
def test_all_that_hold_a_function_by_name_get_the_other_one(
    holders: tuple[types.ModuleType, types.ModuleType], deep: bool, frozen: bool
) -> None:
    def old() -> None: ...
    def new() -> None: ...

    first, other = holders
    new.__wrapped__ = old
    first.name = other.copy = old
    if deep:
        first.Class = type("Class", (), {"__module__": "one_holder", "method": old, "table": {"key": old}})
        other.items = [None, old]
    if frozen:  # as a server does before it forks; the collector no longer reports those objects
        gc.freeze()
    try:
        assert live.rebind(old, new) == 0
    finally:
        gc.unfreeze()
    assert first.name is other.copy is new
    assert new.__wrapped__ is old
    if deep:
        assert (first.Class.method, first.Class.table, other.items) == (new, {"key": new}, [None, new])


def test_all_objects_are_searched_without_help_of_the_collector(
    holders: tuple[types.ModuleType, types.ModuleType],
) -> None:
    old, new = object(), object()
    holders[0].name = old
    assert live.rebind(old, new) == 0
    assert holders[0].name is new


COPIED = """
TABLE, NAMES = {}, []


class Class:
    def method(self):
        return 1


def scale(x):
    return x


"""


@pytest.mark.parametrize(
    ("elsewhere", "others"),
    [
        ("", 0),
        ("TABLE['key'] = scale", 1),
        ("other = scale; NAMES.append(scale); Class.alias = scale", 3),
        ("kept = (scale,)", 1),  # a tuple cannot be changed
    ],
)
def test_the_references_beside_the_name_are_counted(lab: Lab, elsewhere: str, others: int) -> None:
    toy = lab.module(text=COPIED + elsewhere)
    site = live.resolve(toy, "scale")
    assert site.others in (others, None)  # None if this Python does not count
    assert live.resolve(toy, "Class.method").others in (0, None)
    assert live.resolve(toy, "scale").others in (others + 2, None)  # the first site holds it twice
    assert site.raw is site.function


@pytest.mark.parametrize("place", ["alone", "table", "module", "class", "later"])
def test_a_wrapped_function_is_replaced_wherever_it_is_held(lab: Lab, place: str) -> None:
    toy, journal, fix = lab.module(text=COPIED), Journal(), lab.fix("negative")
    fix.wraps("toys.toy:scale")(lambda original: lambda x: -original(x))
    other = types.ModuleType("toys.other")
    other.names, held = [], toy.scale if place == "later" else None
    sys.modules["toys.other"] = other
    if place == "table":
        toy.TABLE["key"] = toy.scale
    if place == "module":
        other.names.append(toy.scale)
    if place == "class":
        toy.Class.alias = staticmethod(toy.scale)
        toy.Class.plain = toy.scale
    try:
        journal.install(fix, fix.targets[0], toy)
        assert toy.scale(2) == -2
        if place == "table":
            assert toy.TABLE["key"](2) == -2
        if place == "module":
            assert other.names[0](2) == -2
        if place == "class":
            assert toy.Class.plain is toy.scale
        if place == "later":
            assert held is not None
            assert held(2) == 2  # a variable of a function cannot be replaced
        journal.uninstall()
        assert toy.scale(2) == 2
    finally:
        del sys.modules["toys.other"]


def test_of_a_function_that_was_changed_no_syntax_tree_is_kept(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    fix, later = lab.fix("first"), lab.fix("second")
    fix.edits("toys.toy:scale", old="return factor", new="return -factor")
    later.edits("toys.toy:scale", old="factor > 3", new="factor > 4")
    before = _trees()
    journal.install(fix, fix.targets[0], toy)
    assert _trees() == before
    assert toy.scale(1) == -2
    journal.install(later, later.targets[0], toy)  # from the kept objects
    assert (toy.scale(1, 4), toy.scale(1, 5)) == (-4, 5)
    journal.uninstall()
    assert toy.scale(1) == 2


def _trees() -> int:
    memo.let_go()
    gc.collect()
    return sum(
        type(subject) in (ast.FunctionDef, ast.Module) for subject in gc.get_objects()
    )  # isinstance queries proxies


def test_a_function_that_is_wrapped_twice_is_found_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, journal = lab.module(text=COPIED + "TABLE['key'] = scale"), Journal()
    first, later = lab.fix("first"), lab.fix("later")
    first.wraps("toys.toy:scale")(lambda original: lambda x: -original(x))
    later.wraps("toys.toy:scale")(lambda original: lambda x: 10 * original(x))
    searched: list[object] = []
    search = live.rebind

    def recorded(old: object, new: object) -> int:
        searched.append(old)
        return search(old, new)

    monkeypatch.setattr(live, "rebind", recorded)
    journal.install(first, first.targets[0], toy)
    journal.install(later, later.targets[0], toy)
    assert (toy.scale(2), toy.TABLE["key"](2)) == (-20, -20)
    if live.resolve(toy, "scale").others is not None:
        assert searched == []
    journal.uninstall()
    assert (toy.scale(2), toy.TABLE["key"](2)) == (2, 2)


def test_tables_of_tables_are_searched_and_partials_are_counted(lab: Lab) -> None:
    text = "import functools\n" + COPIED + "TABLE['key'] = {'inner': scale}\nNAMES.append(functools.partial(scale))"
    toy, journal, fix = lab.module(text=text), Journal(), lab.fix("negative")
    fix.wraps("toys.toy:scale")(lambda original: lambda x: -original(x))
    said = journal.install(fix, fix.targets[0], toy, late=True)
    assert (toy.scale(2), toy.NAMES[0](2)) == (-2, 2)
    assert "1 closures, partials or bound methods still hold the original" in said
    if live.resolve(toy, "scale").others is not None:
        assert toy.TABLE["key"]["inner"](2) == -2


def test_a_wrapper_that_others_hold_meanwhile_is_replaced_there(lab: Lab) -> None:
    toy, journal = lab.module(text=COPIED), Journal()
    first, later = lab.fix("first"), lab.fix("later")
    first.wraps("toys.toy:scale")(lambda original: lambda x: -original(x))
    later.wraps("toys.toy:scale")(lambda original: lambda x: 10 * original(x))
    journal.install(first, first.targets[0], toy)
    toy.NAMES.append(toy.scale)
    journal.install(later, later.targets[0], toy)
    assert toy.NAMES[0](2) == toy.scale(2) == -20


CAPTURED = """
def give(*functions):
    functions, [alone] = [*functions], functions
    def decorate(cls):
        def __init__(self):
            self.alone, self.listed = alone, functions[0]
        cls.__init__ = __init__
        return cls
    return decorate


@give(scale)
class Layer:
    pass
"""


@pytest.mark.parametrize("conditional", [False, True], ids=["always", "on an error"])
def test_what_a_decorator_has_captured_goes_along_and_comes_back(lab: Lab, conditional: bool) -> None:
    """An object that holds the function is pickled by its name, which must lead to the same object."""
    toy, journal, fix = lab.module(text=COPIED + CAPTURED), Journal(), lab.fix("negative")
    condition: dict[str, Any] = {"on_error": ("TypeError: …",)} if conditional else {}
    fix.wraps("toys.toy:scale", **condition)(lambda original: lambda *args, **kwargs: -original(args[0]))
    before, early = toy.scale, toy.Layer()
    journal.install(fix, fix.targets[0], toy)
    for layer in (early, toy.Layer()):
        assert layer.alone is layer.listed is toy.scale is not before
    assert toy.scale(2) == (2 if conditional else -2)
    assert toy.scale(2, 3) == -2
    journal.uninstall()
    for layer in (early, toy.Layer()):
        assert layer.alone is layer.listed is toy.scale is before


COPYING = """
import functools, types

def copy_func(f):
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made = functools.update_wrapper(made, f)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


class Base:
    def scale(self, x, *, factor=1):
        return x * factor


"""
COPIES = """
class First(Base):
    scale = Base.scale


First.scale = copy_func(First.scale)
First.scale.__doc__ = "The first."
"""
BARE = """
class Bare(Base):
    scale = types.FunctionType(Base.scale.__code__, {}, "scale")
"""


@pytest.mark.parametrize("early", [False, True], ids=["copied before", "copied after"])
@pytest.mark.parametrize("conditional", [False, True], ids=["always", "on an error"])
def test_copies_of_a_wrapped_method_go_along_and_come_back(lab: Lab, early: bool, conditional: bool) -> None:
    """The tokenizers, configurations and models of transformers copy a method to give it another docstring."""
    toy, journal, fix = lab.module(text=COPYING + ("" if early else COPIES)), Journal(), lab.fix("negative")
    condition: dict[str, Any] = {"on_error": ("TypeError: …",)} if conditional else {}
    fix.wraps("toys.toy:Base.scale", **condition)(lambda original: lambda *args, **kwargs: -original(*args))
    journal.install(fix, fix.targets[0], toy)
    if early:
        exec(COPIES, vars(toy))
    for cls in (toy.Base, toy.First):
        assert cls().scale(2) == (2 if conditional else -2)
        assert cls().scale(2, other=3) == -2
    assert toy.First.scale.__doc__ == "The first."
    journal.uninstall()
    before = [toy.Base.scale, toy.First.scale]
    assert before[0].__code__ is before[1].__code__
    assert before[1].__wrapped__ is before[0]
    assert before[1].__globals__ is before[0].__globals__
    assert (before[1].__doc__, before[0].__doc__) == ("The first.", None)
    assert toy.First().scale(2, factor=2) == 4
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        toy.First().scale(2, other=3)


def test_a_copy_that_a_program_has_made_by_itself_stays(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=COPYING + BARE), Journal(), lab.fix("negative")
    own = toy.Bare.scale
    fix.wraps("toys.toy:Base.scale")(lambda original: lambda *args, **kwargs: -original(*args))
    journal.install(fix, fix.targets[0], toy)
    assert toy.Bare.scale is own
    journal.uninstall()
    assert toy.Bare.scale is own
