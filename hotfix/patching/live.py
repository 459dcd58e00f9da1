"""Live objects: where a target lives, and who else holds what lives there."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

from ..errors import Refusal


@dataclass(frozen=True)
class Site:
    """Where a target lives.

    Attributes:
        owner: the module or class that has the name.
        name: the last component of the qualified name.
        raw: what ``owner.__dict__`` holds there: a function, a staticmethod, a decorated function, anything.
        function: the plain Python function inside of `raw`, or None.
    """

    owner: Any
    name: str
    raw: Any
    function: Optional[types.FunctionType]


def resolve(module: types.ModuleType, qualname: str) -> Site:
    """Find a target in a loaded module without running any attribute hook of it.

    Raises:
        Refusal: the name is not there.
    """
    import wrapt  # here, because it costs 70 ms and is needed only where something is broken

    try:
        owner, name, _ = wrapt.resolve_path(module, qualname)
    except AttributeError:
        raise Refusal(f"{module.__name__} has no {qualname} at run time") from None
    if name not in vars(owner):
        raise Refusal(f"{qualname} is inherited in {module.__name__}, not defined there")
    raw = vars(owner)[name]
    return Site(owner, name, raw, function_inside(raw))


def below_descriptor(raw: Any) -> Any:
    """What a staticmethod or classmethod is of; anything else as it is."""
    return raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw


def function_inside(raw: Any) -> Optional[types.FunctionType]:
    """The innermost plain function: below staticmethod, classmethod, property and decorators that keep __wrapped__."""
    inner = layers(raw)[-1]
    return inner if isinstance(inner, types.FunctionType) else None


def layers(raw: Any) -> list[Any]:
    """What decorators that keep __wrapped__ have put around a function, outermost first, and last the function."""
    found = [below_descriptor(raw.fget if isinstance(raw, property) else raw)]
    while "__wrapped__" in getattr(found[-1], "__dict__", {}):
        inner = found[-1].__wrapped__
        found.append(inner)
        if any(one is inner for one in found[:-1]):
            break
    return found


def rebind(old: Any, new: Any) -> None:
    """Put `new` where `old` is held by name: in modules, in their classes, and in dictionaries and lists of both.

    Only what the containers really hold is looked at, below their own methods: transformers has dictionaries that
    import every model when their items are asked for, and torch has objects that warn when an attribute is.
    """
    for namespace in _namespaces():
        _rebind_in(namespace, old, new)
        for value in list(namespace.values()):
            if issubclass(type(value), type) and value.__module__ == namespace.get("__name__"):
                for name, held in list(vars(value).items()):
                    if held is old:
                        setattr(value, name, new)
                    else:
                        _rebind_in(held, old, new)
            elif value is not namespace:
                _rebind_in(value, old, new)


def _rebind_in(container: Any, old: Any, new: Any) -> None:
    if issubclass(type(container), dict):
        for key, held in list(dict.items(container)):
            if held is old:
                dict.__setitem__(container, key, new)
    elif type(container) is list:
        for index, held in enumerate(container):
            if held is old:
                container[index] = new


def _namespaces() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        # Not getattr and not vars() of lazy modules: looking at them imports what they stand for.
        namespace = getattr(module, "__dict__", None) if type(module) is types.ModuleType else None
        if namespace is not None:
            yield namespace


def unreachable(original: Any) -> int:
    """How many closures, partials and bound methods hold the original besides our own wrapper."""
    kinds = (types.CellType, types.MethodType, partial)
    return sum(isinstance(holder, kinds) for holder in gc.get_referrers(original)) - 1
