"""The holders of a function are found, and little is kept of a changed function."""

from __future__ import annotations

import ast
import gc
import sys
import types

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
