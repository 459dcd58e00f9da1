"""Descriptors in a class of the library, hidden from programs that list or search its names."""

from __future__ import annotations

import types
from collections.abc import Iterable
from functools import wraps
from typing import Any, Callable, Optional

from .descriptors import PARTS, Restored

_hooked: dict[type, tuple[int, dict[str, tuple[Any, Any]]]] = {}
"""The number of descriptors of a class, and the hooks that hide them: by name what the class itself had, and ours."""


def put_in_class(owner: type, name: str, descriptor: Restored) -> None:
    """Give a class a descriptor for a name that it lacks.

    ``dir()`` of an instance does not show it. The tokenizers of 5.5.1 and later search their classes in
    ``__getattr__``, and would return the descriptor itself to a program that works without the name. Both methods are
    therefore wrapped.
    """
    descriptor.__set_name__(owner, name)
    setattr(owner, name, descriptor)
    count, hooks = _hooked.get(owner, (0, {}))
    if not hooks:
        own = vars(owner).get("__dir__")
        hooks["__dir__"] = own, _dir_without_descriptors(owner, own)
        hook = vars(owner).get("__getattr__")
        if isinstance(hook, types.FunctionType) and "__mro__" in hook.__code__.co_names:
            hooks["__getattr__"] = hook, _without_descriptors(hook)
        for method, (_, ours) in hooks.items():
            setattr(owner, method, ours)
    _hooked[owner] = count + 1, hooks


def take_from_class(owner: type, name: str) -> None:
    """Undo `put_in_class`."""
    delattr(owner, name)
    count, hooks = _hooked.pop(owner, (0, {}))
    if count > 1:
        _hooked[owner] = count - 1, hooks
        return
    for method, (own, ours) in hooks.items():
        if vars(owner).get(method) is ours and own is None:
            delattr(owner, method)
        elif vars(owner).get(method) is ours:
            setattr(owner, method, own)


def _without_descriptors(original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """A ``__getattr__`` that skips our descriptors."""

    @wraps(original)
    def __getattr__(self: Any, key: str) -> Any:  # noqa: N807 - its name
        value = original(self, key)
        if isinstance(value, Restored):
            raise AttributeError(f"{type(self).__name__} has no attribute {key}")
        return value

    return __getattr__


def _dir_without_descriptors(owner: type, own: Any) -> Any:
    """A ``__dir__`` that leaves out our descriptors: a program that reads every name would meet their errors."""
    if own is None:
        return _Dir(owner)

    @wraps(own)
    def __dir__(self: Any) -> list[str]:  # noqa: N807 - its name
        return _without_restored(self, own(self))

    return __dir__


class _Dir:
    """A ``__dir__`` for a class that defines none. As with that of `object`, `inspect` sees no Python function."""

    def __init__(self, owner: type) -> None:
        self.owner = owner

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, instance: Any) -> list[str]:
        names: Any = (
            super(self.owner, instance) if isinstance(instance, self.owner) else super(type(instance), instance)
        )
        return _without_restored(instance, names.__dir__())


def _without_restored(instance: Any, listed: Iterable[str]) -> list[str]:
    """The names of an instance, each as often as without our descriptors."""
    names, order = list(listed), type(instance).__mro__
    own = vars(instance) if hasattr(instance, "__dict__") else {}
    of_instance = (own, *(own[kind] for kind in PARTS if isinstance(own.get(kind), dict)))
    for name in {name for kind in order for name, value in vars(kind).items() if isinstance(value, Restored)}:
        if any(name in vars(kind) and not isinstance(vars(kind)[name], Restored) for kind in order):
            continue
        left = max(names.count(name) - 1, 1) if any(name in space for space in of_instance) else 0
        while names.count(name) > left:
            names.remove(name)
    return names
