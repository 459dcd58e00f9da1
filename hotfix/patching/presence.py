"""Whether a loaded module has a name. Every module that may lack one is checked: it is cheap and imports nothing."""

from __future__ import annotations

import types
from typing import Any

from .._support.words import parts

OF_EVERY_CLASS = ("__getattr__", "__new__", "_load_from_state_dict")
"""Methods that Python and torch look up, not the program: an added one decides by what it receives."""

_INHERITED_BY_ALL = ("__new__", "_load_from_state_dict")

_CLASS_DICT: Any = vars(type)["__dict__"]


def has(module: types.ModuleType, qualname: str) -> bool:
    """Whether a loaded module has a name, its class a member (own or inherited), or its dictionary a key.

    A class that inherits torch's way of loading, or Python's way of making objects, has none of its own.

    It does not trigger lazy imports.
    """
    owner: Any = module
    *path, name = parts(qualname)
    for part in path:
        owner = vars(owner).get(part)
    if isinstance(owner, dict):
        return name in owner
    if isinstance(owner, type):
        inherited = [] if name in _INHERITED_BY_ALL else owner.__mro__
        if getattr(_CLASS_DICT.__get__(owner).get(name), "is_at_rest", False):  # it remains of one that was added
            return False
        return any(name in _CLASS_DICT.__get__(kind) for kind in (owner, *inherited))
    return owner is None or name in vars(owner) or name in lazy_names(owner)


def lazy_names(module: Any) -> dict[str, str]:
    """The names that a lazy package of transformers imports on demand, with their modules; else an empty dictionary."""
    table = vars(module).get("_class_to_module")
    return table if isinstance(table, dict) else {}
