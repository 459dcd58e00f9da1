"""Does the program do elsewhere what an override does that a release no longer calls?

Its author may have moved on, and kept the override for older releases. Both then use the same code of the program: a
function, a method, or an object that it holds.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from . import scope

_LIBRARIES = frozenset("abc builtins functools hotfix peft threading torch transformers typing".split())


def is_done_elsewhere(fix: str, owner: Any, name: str, beside: Iterable[Any] = (), without: Iterable[str] = ()) -> bool:
    """Whether other code of the program's uses an override, or code of the program's that the override uses.

    The other code is that of the owner's class, and that of the program's functions and modules that are running.

    Args:
        fix: id of the fix that asks, for the report.
        owner: has the override.
        name: of the override.
        beside: other objects whose classes are read, such as callbacks.
        without: names of methods that may use the same code.
    """
    function = inspect.unwrap(getattr(owner, name))
    names = {name, *_shared(function, owner)}
    kinds = [kind for thing in (owner, *beside) for kind in type(thing).__mro__ if not _is_of_a_library(kind)]
    others = (
        inspect.unwrap(other)
        for kind in kinds
        for key, other in vars(kind).items()
        if key not in (name, *without) and isinstance(other, types.FunctionType)
    )
    uses = ((other.__name__, names_in(other)) for other in others)
    for used_by, used in (*uses, *_running(function)):
        if not names.isdisjoint(used):
            return not scope.leave_alone(fix, f"{used_by} of yours uses what {type(owner).__name__}.{name} uses")
    return False


def names_in(function: Any) -> set[str]:
    """The names that a function and the functions in it use."""
    code = getattr(function, "__code__", None)
    return set() if code is None else set(_names(code))


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _shared(function: Any, owner: Any) -> Iterator[str]:
    """The names of the program's own functions and methods that a function uses."""
    space, used = getattr(function, "__globals__", {}), names_in(function)
    held = {**space, **getattr(owner, "__dict__", {}), **(getattr(owner, "_modules", None) or {})}
    values = [owner, *(held[name] for name in used if name in held)]
    for name in used:
        value = held.get(name)
        if isinstance(value, (types.FunctionType, types.MethodType)) and not _is_of_a_library(value):
            yield name
    for value in values:
        kind = value if isinstance(value, type) else type(value)
        for each in kind.__mro__:
            if not _is_of_a_library(each):
                yield from (name for name in used if isinstance(vars(each).get(name), _METHODS))


_METHODS = (types.FunctionType, staticmethod, classmethod)


def _is_of_a_library(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).partition(".")[0] in _LIBRARIES


def _running(function: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What runs of the package of a function and of the script, and the names that it uses by itself."""
    own = str(function.__module__).partition(".")[0]
    frame: Any = sys._getframe(1)
    while frame is not None:
        package, file = str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename
        is_script = package == "__main__" and "site-packages" not in file and not file.startswith("<")
        if package == own or is_script:
            yield frame.f_code.co_name, frame.f_code.co_names
        frame = frame.f_back
