"""The class that a module gets, for descriptors of names that it lacks."""

from __future__ import annotations

import types
from typing import Any, Optional

from ...errors import Refusal

BASE = "_hotfix_base"
"""The class attribute that holds the class a module had before."""


class _OfTheClass(str):
    """The ``__module__`` of a class that its instances do not have: a module has no such attribute."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: Any = None) -> str:
        if instance is None:
            return self
        raise AttributeError("__module__")


def home_of(base: type) -> str:
    """The ``__module__`` of a class of modules that derives from another one."""
    home = base.__module__
    return _OfTheClass(home) if base is types.ModuleType or isinstance(home, _OfTheClass) else home


def class_of(module: types.ModuleType, makes: bool = False) -> Optional[type]:
    """The class that we gave a module, even below a class that it got later.

    Args:
        module: the module.
        makes: whether to create one if it has none.

    Raises:
        Refusal: the class of the module cannot be changed.
    """
    for kind in type(module).__mro__:
        if BASE in vars(kind):
            return kind
    if not makes:
        return None
    base = type(module)
    members = {BASE: base, "__module__": home_of(base), "__qualname__": base.__qualname__, "__reduce__": _reduce}
    kind = type(base.__name__, (base,), members)
    try:
        module.__class__ = kind
    except TypeError as error:
        raise Refusal(f"{module.__name__} cannot have another class: {error}") from error
    return kind


def put(module: types.ModuleType, name: str, descriptor: Any) -> None:
    """Give the class of a module a descriptor for a name that the module lacks."""
    setattr(class_of(module, makes=True), name, descriptor)


def take(module: types.ModuleType, name: str, descriptor: Any) -> None:
    """Remove a descriptor; after the last one the module gets its class back, unless its class was changed since."""
    kind = class_of(module)
    if kind is None:
        return
    if vars(kind).get(name) is descriptor:
        delattr(kind, name)
    ours = (BASE, "__module__", "__qualname__", "__reduce__", "__doc__", "__dict__", "__weakref__")
    if type(module) is kind and not vars(kind).keys() - {*ours, "__firstlineno__", "__static_attributes__"}:
        module.__class__ = vars(kind)[BASE]


def own_answer(subject: Any, name: str) -> Any:
    """The result of a module's or an object's own ``__getattr__`` for a name that it lacks.

    Raises:
        AttributeError: it has no such name.
    """
    of_class = getattr(type(subject), "__getattr__", None)
    own = vars(subject).get("__getattr__") if isinstance(subject, types.ModuleType) else None
    if own is not None:  # a module's own function comes first, as in Python
        try:
            return own(name)
        except AttributeError:
            if of_class is None:
                raise
    if of_class is None:
        raise AttributeError(name)
    return of_class(subject, name)


def has_own_hook(subject: Any) -> bool:
    """Whether a module or an object has a ``__getattr__``."""
    if getattr(type(subject), "__getattr__", None) is not None:
        return True
    return isinstance(subject, types.ModuleType) and "__getattr__" in vars(subject)


def _reduce(self: Any) -> Any:
    """Pickle such a module as its original class does; a plain module, which cannot be pickled, by its name."""
    kind = class_of(self)
    base = vars(kind)[BASE]
    if base is types.ModuleType:
        from importlib import import_module

        return import_module, (self.__name__,)
    made = base.__reduce__(self)
    return (base, *made[1:]) if made[0] in (kind, type(self)) else made
