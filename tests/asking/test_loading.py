"""Broad handlers directly around the library's functions that load and save files."""

from __future__ import annotations

import sys
from typing import Any, Callable

import pytest

from hotfix import asking

LIBRARY = """
def from_pretrained(ask):
    return inner(ask)

def generate(ask):
    return inner(ask)

def inner(ask):
    return ask()
"""
library: dict[str, Any] = {"__name__": "transformers.loads"}
exec(LIBRARY, library)
pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="handlers are not read there")


def is_handled() -> bool:
    return asking.is_handled(ValueError, sys._getframe(1))


def substitute() -> str:
    return "of the program"


def with_a_substitute(call: Callable[..., Any], ask: Callable[[], bool]) -> Any:
    try:
        value = call(ask)
    except Exception:
        value = substitute()
    return value


def that_reports(call: Callable[..., Any], ask: Callable[[], bool]) -> Any:
    try:
        return call(ask)
    except Exception as error:
        print(error)
        raise


def by_a_function(call: Callable[..., Any], ask: Callable[[], bool]) -> Any:
    def load() -> Any:
        return call(ask)

    try:
        value = load()
    except Exception:
        value = substitute()
    return value


def ask() -> bool:
    return is_handled()


@pytest.mark.parametrize(
    ("program", "function", "handled"),
    [
        (with_a_substitute, "from_pretrained", True),
        (with_a_substitute, "generate", False),
        (that_reports, "from_pretrained", False),
        (by_a_function, "from_pretrained", False),
    ],
)
def test_a_broad_handler_with_a_substitute_counts_around_loading(program: Any, function: str, handled: bool) -> None:
    assert program(library[function], ask) is handled
