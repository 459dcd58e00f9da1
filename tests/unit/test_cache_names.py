"""How the code of a function uses the name of the cache, on every version of Python."""

from __future__ import annotations

from typing import Any

import pytest

from hotfix.names.cache_names import cuts, lets_keywords_go, uses_otherwise

KEY = "past_key_values"


def code_of(body: str, arguments: str = "x, **kw") -> Any:
    names: dict[str, Any] = {}
    exec(f"def function({arguments}):\n    {body}", names)
    return names["function"].__code__


@pytest.mark.parametrize(
    ("body", "goes"),
    [
        ("return x(1, **kw)", True),
        ("return x(x=1, **{**kw})", True),
        ("return [kw for _ in range(2)]", True),
        ("return dict(kw)", True),
        ("return kw.get('a'), kw.pop('b', None)", False),
        ("return kw['a']", False),
        ("if kw: return 1", False),
        ("return 'a' in kw", False),
    ],
)
def test_keywords_that_may_be_passed_on_as_a_whole(body: str, goes: bool) -> None:
    assert lets_keywords_go(code_of(body)) is goes


def test_a_function_without_keywords_passes_none_on() -> None:
    assert not lets_keywords_go(code_of("return x", "x"))


@pytest.mark.parametrize(("body", "does"), [("return x[:, -1:]", True), ("return x[1:]", True), ("return x[0]", False)])
def test_slices(body: str, does: bool) -> None:
    assert cuts(code_of(body)) is does


@pytest.mark.parametrize(
    ("body", "does"),
    [
        (f"return {KEY!r} not in x", True),
        (f"return {{{KEY!r}: x}}", True),
        (f"return x == {KEY!r}", True),
        (f"return x[{KEY!r}]", False),
        (f"return x.get({KEY!r})", False),
        (f"return {KEY!r} in x", False),
    ],
)
def test_other_uses_of_the_name_than_an_item(body: str, does: bool) -> None:
    assert uses_otherwise(KEY, code_of(body)) is does
