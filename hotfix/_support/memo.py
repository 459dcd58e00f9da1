"""Functions whose results are kept for the process, and forgotten together.

What they tell are facts about files: what is installed, what the evidence says. A session that begins anew (a test, a
program that has installed something) calls `forget`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_kept: list[Any] = []
_for_now: list[Any] = []


def memo(function: _Function) -> _Function:
    """Keep what a function returns, by its arguments."""
    keeping = lru_cache(maxsize=None)(function)
    _kept.append(keeping)
    return keeping  # type: ignore[return-value]  # it is called as the function is


def recent(number: int) -> Callable[[_Function], _Function]:
    """Keep what a function returned for its last few arguments, until `let_go`.

    For what is asked several times in a row of large arguments: whole files, and what was made of them.
    """

    def decorate(function: _Function) -> _Function:
        keeping = lru_cache(maxsize=number)(function)
        _kept.append(keeping)
        _for_now.append(keeping)
        return keeping  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Forget everything that was kept."""
    for function in _kept:
        function.cache_clear()


def let_go() -> None:
    """Forget what was kept of large arguments, because something else comes next."""
    for function in _for_now:
        function.cache_clear()
