"""`hotfix.asking` does not count a handler of a fix, which it knows by the name of the local variable for the error."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path

import hotfix


def closures(code: types.CodeType) -> Iterator[str]:
    """The functions whose variable a function within them uses, so that it is no local variable."""
    if "_hotfix_error" in code.co_cellvars:
        yield code.co_name
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from closures(inner)


def test_no_function_within_uses_the_error_of_a_fix() -> None:
    code = compile("def f():\n    _hotfix_error = 1\n    return [lambda: _hotfix_error]\n", "", "exec")
    assert list(closures(code)) == ["f"]
    for file in Path(hotfix.__file__).parent.rglob("*.py"):
        if "_hotfix_error" in (text := file.read_text("utf-8")):
            assert list(closures(compile(text, str(file), "exec"))) == [], file
