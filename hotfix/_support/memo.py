"""Caches of functions, cleared together.

The cached results are facts about files: installed packages, evidence. A new session (a test, a program that has
installed something) calls `forget`.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import Any, Callable, TypeVar
from weakref import WeakKeyDictionary

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


def weakly(function: _Function) -> _Function:
    """Cache the results of a function for its first argument, as long as that lives, and for the others by equality.

    For functions and classes of the program: they may hold a model, which must be freed with them. The others must not
    refer to the first one, nor may the results.
    """
    known: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()

    @wraps(function)
    def keeping(subject: Any, *others: Any) -> Any:
        try:
            results = known.setdefault(subject, {})
        except TypeError:  # it has no hash, or takes no weak reference
            return function(subject, *others)
        if others not in results:
            results[others] = function(subject, *others)
        return results[others]

    keeping.cache_clear = known.clear  # type: ignore[attr-defined]
    _kept.append(keeping)
    return keeping  # type: ignore[return-value]


def forget() -> None:
    """Clear all caches."""
    for function in _kept:
        function.cache_clear()


def let_go() -> None:
    """Clear the caches of `recent`, because other arguments come next."""
    for function in _for_now:
        function.cache_clear()
