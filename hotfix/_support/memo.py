"""Caches of functions, cleared together.

The cached results are facts about files: installed packages, evidence. A new session (a test, a program that has
installed something) calls `forget`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_kept: list[Any] = []
_for_now: list[Any] = []


def memo(function: _Function) -> _Function:
    """Cache the results of a function by its arguments."""
    keeping = lru_cache(maxsize=None)(function)
    _kept.append(keeping)
    return keeping  # type: ignore[return-value]  # it is called as the function is


def recent(number: int) -> Callable[[_Function], _Function]:
    """Cache the results of a function for its last few arguments, until `let_go`.

    For several calls in a row with the same large argument, such as a whole file.
    """

    def decorate(function: _Function) -> _Function:
        keeping = lru_cache(maxsize=number)(function)
        _kept.append(keeping)
        _for_now.append(keeping)
        return keeping  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Clear all caches."""
    for function in _kept:
        function.cache_clear()


def let_go() -> None:
    """Clear the caches of `recent`, because other arguments come next."""
    for function in _for_now:
        function.cache_clear()
