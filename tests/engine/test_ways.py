"""The ways of changing a target: another way is one class, and no other code asks for the name of a way."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Optional

import pytest

from hotfix import _target
from hotfix.fix import Fix, Target
from hotfix.patching.journal import Journal
from tests.hostile.conftest import Lab, lab

__all__ = ["lab"]

ROOT = Path(__file__).parents[2]


class Renamed:
    """An operation: the function gets another name."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.name = function.__name__
        self.steps: list[Any] = []

    def has(self, target: Target) -> bool:
        return any(step.target is target for step in self.steps)

    def change(self, steps: Iterable[Any]) -> None:
        self.steps = list(steps)
        self.function.__name__ = self.steps[-1].target.implementation if self.steps else self.name

    def blocked(self) -> Optional[str]:
        return None

    def sentence(self, target: Target, late: bool) -> str:
        return f"It was {target.way.verb}."


class Rename(_target.Way):
    """A function gets another name."""

    name = "rename"
    verb = "renamed"

    def operation(self, journal: Any, target: Target, module: ModuleType, late: bool, plainly: bool) -> Any:
        """One operation for each function."""
        return Renamed(vars(module)[target.qualname])


def test_another_way_is_one_class(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_target.WAYS, "rename", Rename())
    toy = lab.module(text="def scale(x):\n    return x + 3\n")
    journal, target = Journal(), Target("toys.toy", "scale", method="rename", implementation="grow")
    assert journal.install(Fix("renaming", kind="crash"), target, toy) == "It was renamed."
    assert (toy.scale.__name__, journal.is_in_place(target)) == ("grow", True)
    assert journal.uninstall() == []
    assert (toy.scale.__name__, len(journal)) == ("scale", 0)


def test_a_method_without_a_way_is_an_error() -> None:
    with pytest.raises(ValueError, match="replace, edit, wrap, add"):
        _ = Target("toys.toy", "scale", method="rewrite").way


@pytest.mark.parametrize("folder", ["hotfix", "tools", "benchmarks"])
def test_no_code_compares_the_name_of_a_way(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "method":
                assert path.name == "_target.py", f"{path}:{node.lineno}"
