"""A fix that converts input to the release's format: the result, and the report."""

from __future__ import annotations

import ast
import textwrap
from types import SimpleNamespace
from typing import Any

import pytest

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.pattern import Rewrite
from hotfix.versions import source

TEXT = """
def load(path, cls):
    with open(path) as file:
        settings = json.load(file)
    return cls(**settings)
"""


def _fix() -> Fix:
    return Fix(id="reads-it", title="t", kind="loading")


def double(settings: dict[str, Any], cls: Any = None) -> dict[str, Any]:
    return {key: 2 * value for key, value in settings.items()}


def _run(fix: Fix) -> Any:
    definition = source.find(TEXT, "load")
    assert definition is not None
    tree = code.edited_tree(source.parse(code.standing_alone(definition, "load")), fix.targets[0])
    names = {"json": SimpleNamespace(load=lambda file: {"a": 1}), "open": lambda path: _File()}
    exec(compile(ast.fix_missing_locations(tree), "edited", "exec"), names)
    return names["load"]("path", dict)  # type: ignore[operator]


class _File:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


@pytest.mark.parametrize("at", ["settings = json.load(file)", "return cls(**settings)"])
def test_the_function_is_called_behind_reading_or_before_interpreting(at):
    fix = _fix()
    fix.converts(("module:load", ">=1"), name="settings", at=at, given=("cls",))(double)
    assert _run(fix) == {"a": 2}
    assert fix.targets[0].converts
    assert fix.is_broken(ast.parse(TEXT))


def test_it_is_not_needed_where_the_release_understands():
    fix = _fix()
    fix.converts("module:load", name="settings", at="settings = json.load(file)", unless="understood")(double)
    assert fix.is_broken(ast.parse(TEXT))
    assert not fix.is_broken(ast.parse(TEXT + textwrap.indent("understood(settings)", "    ")))


def test_a_statement_that_is_no_python_is_refused():
    with pytest.raises(ValueError, match="reads-it"):
        _fix().converts("module:load", name="settings", at="settings = (")(double)


def test_none_of_several_pieces_may_occur():
    rewrite = Rewrite("f(a)", "g(a)", unless=("b", "c.d"))
    assert rewrite.occurs_in(ast.parse("f(a)"))
    assert not rewrite.occurs_in(ast.parse("f(a) + b"))
    assert not rewrite.occurs_in(ast.parse("f(a)"), ast.parse("c.d()"))
