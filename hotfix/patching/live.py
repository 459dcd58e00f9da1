"""Live objects: where a target lives, what others have put around it, and who else holds it."""

from __future__ import annotations

import gc
import inspect
import sys
import types
from collections.abc import Iterator
from functools import partial
from typing import Any, Optional

from ..errors import Refusal

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # what they make does not stay
_MODULE_DICT: Any = vars(types.ModuleType)["__dict__"]
_CLASS_DICT: Any = vars(type)["__dict__"]


class Site:
    """Where a target lives.

    Attributes:
        owner: the module or class that has the name.
        name: the last component of the qualified name.
        raw: what ``owner.__dict__`` holds there: a function, a staticmethod, a decorated function, anything.
        function: the plain Python function inside of `raw`, or None.
    """

    def __init__(self, owner: Any, name: str, raw: Any, function: Optional[types.FunctionType]) -> None:
        self.owner = owner
        self.name = name
        self.raw = raw
        self.function = function

    def holds(self) -> Any:
        """What stands there now."""
        return vars(self.owner).get(self.name)


def resolve(module: types.ModuleType, qualname: str) -> Site:
    """Find a target in a loaded module without running any attribute hook of it.

    Raises:
        Refusal: the name is not there.
    """
    import wrapt  # here, because it costs 70 ms and is needed only where something is broken

    if not hasattr(wrapt, "resolve_path"):  # nothing that could be said of the target
        place = getattr(wrapt, "__file__", None) or "a folder without code"
        raise ImportError(f"wrapt ({place}) is not the package that hotfix needs: reinstall wrapt>=1.15", name="wrapt")
    try:
        owner, name, _ = wrapt.resolve_path(module, qualname)
    except AttributeError:
        raise Refusal(f"{module.__name__} has no {qualname} at run time") from None
    if name not in vars(owner):
        raise Refusal(f"{qualname} is inherited in {module.__name__}, not defined there")
    raw = vars(owner)[name]
    return Site(owner, name, raw, function_inside(raw))


def below_descriptor(raw: Any) -> Any:
    """What a staticmethod or classmethod is of, or what reads a property; anything else as it is."""
    if isinstance(raw, property):
        return raw.fget
    return raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw


def function_inside(raw: Any) -> Optional[types.FunctionType]:
    """The innermost plain function: below staticmethod, classmethod, property and decorators that keep __wrapped__."""
    inner = layers(raw)[-1]
    return inner if isinstance(inner, types.FunctionType) else None


def layers(raw: Any) -> list[Any]:
    """What decorators that keep __wrapped__ have put around a function, outermost first, and last the function."""
    found = [below_descriptor(raw)]
    while True:
        # Not hasattr: an object may make up attributes. A proxy of wrapt has a descriptor for it.
        if inspect.getattr_static(found[-1], "__wrapped__", None) is None:
            return found
        inner = below_descriptor(found[-1].__wrapped__)
        if any(one is inner for one in found):
            return found
        found.append(inner)


def is_below(inner: Any, raw: Any) -> bool:
    """Whether an object is what stands somewhere, or what was wrapped there, by whatever tells what it wraps."""
    return any(one is inner for one in layers(raw))


def place_of(thing: Any) -> str:
    """Where an object was written, as ``FILE:LINE`` as far as that can be told."""
    inner = below_descriptor(thing)
    if type(inner) is not types.FunctionType:  # a proxy has the code of what it stands for
        inner = getattr(inner, "_self_wrapper", None) or inner
    code = getattr(inner, "__code__", None)
    if isinstance(code, types.CodeType):
        return f"{code.co_filename}:{code.co_firstlineno}"
    kind = type(inner)
    return f"{kind.__module__}.{kind.__qualname__}"


# ---------------------------------------------------------------------------------------------------------------------
# Below: who holds an object.


def rebind(old: Any, new: Any) -> int:
    """Put `new` where `old` is held by name: in modules, in their classes, and in dictionaries and lists of both.

    Only what the containers really hold is looked at, below their own methods: transformers has dictionaries that
    import every model when their items are asked for, and torch has objects that warn when an attribute is.

    Returns:
        How many holders refuse to have the name set; they keep `old`.
    """
    refused, is_container = 0, _Containers()
    holders, namespaces = _holders(old, new), list(_namespaces())
    for namespace in namespaces:
        if holders is None or id(namespace) in holders:
            _rebind_in(namespace, old, new)
    if holders is not None and holders.issubset(map(id, namespaces)):
        return 0  # most often; to look into all that these hold takes three times as long as all before
    for namespace in namespaces:
        name_of_module = namespace.get("__name__")
        for value in list(namespace.values()):
            if issubclass(type(value), type):
                members = _CLASS_DICT.__get__(value)
                # On Python 3.9 there are static types without any, until they are used.
                if members is None or members.get("__module__") != name_of_module:
                    continue
                for name, held in list(members.items()):
                    if held is old:
                        refused += not _is_set(value, name, new)
                    elif is_container[type(held)]:
                        _rebind_in(held, old, new)
            elif is_container[type(value)] and value is not namespace:
                _rebind_in(value, old, new)
    return refused


def _holders(old: Any, new: Any) -> Optional[set[int]]:
    """The identities of the dictionaries and lists that hold `old`, less that of `new`; None if it is not known."""
    if gc.get_freeze_count() or not gc.is_tracked(old):
        return None  # what was frozen is not told, nor what holds only things that hold nothing
    found = gc.get_referrers(old)
    own = getattr(new, "__dict__", None)
    return {id(one) for one in found if issubclass(type(one), (dict, list)) and one is not own}


class _Containers(dict[type, bool]):
    """Whether things of a type are looked into; asked some hundred thousand times, of some hundred types."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = kind is list or issubclass(kind, dict)
        return self[kind]


def _is_set(owner: type, name: str, value: Any) -> bool:
    try:
        setattr(owner, name, value)
    except Exception:  # a metaclass of somebody else may raise what it likes
        return False
    return True


def _rebind_in(container: Any, old: Any, new: Any) -> None:
    if issubclass(type(container), dict):
        for key, held in list(dict.items(container)):
            if held is old:
                dict.__setitem__(container, key, new)
    else:
        for index, held in enumerate(container):
            if held is old:
                container[index] = new


def _namespaces() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        # Not getattr and not vars(): of lazy modules they would import what these stand for.
        if issubclass(type(module), types.ModuleType):
            namespace = _MODULE_DICT.__get__(module)
            if namespace is not None:  # of a module that was made without its initialiser there is none
                yield namespace


def made_by(code: types.CodeType, module: Optional[types.ModuleType] = None) -> int:
    """How many functions there are that code has made when it ran: what a decorator has put around others.

    Args:
        code: of the function.
        module: they are looked for there alone, which takes no time; everywhere if None.
    """
    inner = list(_codes_in(code))
    if not inner:
        return 0
    if module is None:
        return sum(isinstance(one, types.FunctionType) for one in gc.get_referrers(*inner))
    found = (below_descriptor(one) for one in _held_in(module))
    return sum(isinstance(one, types.FunctionType) and one.__code__ in inner for one in found)


def _held_in(module: types.ModuleType) -> Iterator[Any]:
    """What a module and its own classes hold by name."""
    for one in list(_MODULE_DICT.__get__(module).values()):
        yield one
        if issubclass(type(one), type) and one.__module__ == module.__name__:
            yield from list(vars(one).values())


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            if one.co_name not in _COMPREHENSIONS:
                yield one
            yield from _codes_in(one)


def unreachable(original: Any) -> int:
    """How many closures, partials and bound methods hold the original besides our own wrapper."""
    kinds = (types.CellType, types.MethodType, partial)
    return sum(isinstance(holder, kinds) for holder in gc.get_referrers(original)) - 1
