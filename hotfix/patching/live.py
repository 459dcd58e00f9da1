"""Live objects: the site of a target, the wrappers around it, and the other references to it."""

from __future__ import annotations

import gc
import inspect
import sys
import types
from collections.abc import Iterator
from contextlib import suppress
from functools import partial, update_wrapper
from typing import Any, Optional

from ..errors import Refusal

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # they make only temporary objects
_PACKAGE = __name__.rpartition(".patching")[0]  # another name if hotfix is vendored
_MODULE_DICT: Any = vars(types.ModuleType)["__dict__"]
_CLASS_DICT: Any = vars(type)["__dict__"]


class Site:
    """The site of a target.

    Attributes:
        owner: the module or class that has the name.
        name: the last component of the qualified name.
        raw: the object in ``owner.__dict__``: a function, a staticmethod, a decorated function, anything.
        function: the plain Python function inside `raw`, or None.
        others: how many references to `raw` there were besides ``owner.__dict__`` at the lookup; None if unknown.
    """

    def __init__(
        self, owner: Any, name: str, raw: Any, function: Optional[types.FunctionType], others: Optional[int] = None
    ) -> None:
        self.owner = owner
        self.name = name
        self.raw = raw
        self.function = function
        self.others = others

    def holds(self) -> Any:
        """The current object."""
        return vars(self.owner).get(self.name)


def resolve(module: types.ModuleType, qualname: str) -> Site:
    """Find a target in a loaded module without running any of its attribute hooks.

    Raises:
        Refusal: the name is not there.
    """
    import wrapt  # here, because it costs 70 ms and is needed only if a function is broken

    if not hasattr(wrapt, "resolve_path"):  # a broken installation, not a property of the target
        place = getattr(wrapt, "__file__", None) or "a folder without code"
        raise ImportError(f"wrapt ({place}) is not the package that hotfix needs: reinstall wrapt>=1.15", name="wrapt")
    try:
        owner, name = wrapt.resolve_path(module, qualname)[:2]  # not the object, which would be held once more
    except AttributeError:
        raise Refusal(f"{module.__name__} has no {qualname} at run time") from None
    if name not in vars(owner):
        raise Refusal(f"{qualname} is inherited in {module.__name__}, not defined there")
    others = _other_references(owner, name)
    raw = vars(owner)[name]
    return Site(owner, name, raw, function_inside(raw), others)


class _Control:
    def method(self) -> None:
        """Held by its class alone."""


def _other_references(owner: Any, name: str) -> Optional[int]:
    """How many references there are to an object, besides the one in the dictionary of a module or class."""
    count = getattr(sys, "getrefcount", None)
    if count is None or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None  # without the lock, the count does not include all references
    # Looking it up adds references, as many as for the control.
    return int(count(vars(owner)[name]) - count(vars(_Control)["method"]))


def below_descriptor(raw: Any) -> Any:
    """The function of a staticmethod or classmethod, or the getter of a property; any other object unchanged."""
    if isinstance(raw, property):
        return raw.fget
    return raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw


def function_inside(raw: Any) -> Optional[types.FunctionType]:
    """The innermost plain function: below staticmethod, classmethod, property and decorators that keep __wrapped__."""
    inner = layers(raw)[-1]
    return inner if isinstance(inner, types.FunctionType) else None


def layers(raw: Any) -> list[Any]:
    """The wrappers that set __wrapped__ around a function, outermost first; the function comes last."""
    found_layers = [below_descriptor(raw)]
    while True:
        # Not hasattr: an object may invent attributes. A proxy of wrapt has a descriptor for this one.
        if inspect.getattr_static(found_layers[-1], "__wrapped__", None) is None:
            return found_layers
        inner = below_descriptor(found_layers[-1].__wrapped__)
        if any(layer is inner for layer in found_layers):
            return found_layers
        found_layers.append(inner)


def is_below(inner: Any, raw: Any) -> bool:
    """Whether an object is `raw` itself, or is wrapped by it, as far as the wrappers set __wrapped__."""
    return any(layer is inner for layer in layers(raw))


def place_of(thing: Any) -> str:
    """Where an object was defined, as ``FILE:LINE`` if that is known."""
    inner = below_descriptor(thing)
    if type(inner) is not types.FunctionType:  # a proxy has the code of the object it wraps
        inner = getattr(inner, "_self_wrapper", None) or inner
    code = getattr(inner, "__code__", None)
    if isinstance(code, types.CodeType):
        return f"{code.co_filename}:{code.co_firstlineno}"
    kind = type(inner)
    return f"{kind.__module__}.{kind.__qualname__}"


# ---------------------------------------------------------------------------------------------------------------------
# Below: references to an object.


def rebind_at_home(old: Any, new: Any, others: Optional[int]) -> Optional[int]:
    """Replace `old` by `new` in the module that defines it, as `rebind` does, and in containers in its containers.

    Args:
        old: the object.
        new: the next one.
        others: how many references to `old` there may be; None if unknown.

    Returns:
        How many partials hold `old`, which cannot be changed; None if there may be further references. The first is the
        usual case; `rebind` takes hundreds of times as long.
    """
    if others in (None, 0):
        return others
    module = sys.modules.get(getattr(old, "__module__", ""))
    namespace = _MODULE_DICT.__get__(module) if isinstance(module, types.ModuleType) else None
    if namespace is None:
        return None
    replaced, held = _rebind_within(namespace, old, new, None)[0], 0
    for value in [held for held in namespace.values() if type(held) in (dict, list)]:
        for inner in value.values() if type(value) is dict else value:
            if type(inner) in (dict, list):
                replaced += _rebind_in(inner, old, new)
            held += type(inner) is partial and inner.func is old
    return held if replaced + held == others else None


def rebind(old: Any, new: Any) -> int:
    """Replace `old` by `new` under every name: in modules, in their classes, in dictionaries and lists of both.

    It does so in closures and in attributes of objects, too. A decorator may give what it captured to every object of a
    class, and such an object could not be pickled, since the name of the function would lead to another one.

    It reads only the stored contents of containers, not through their own methods. transformers has dictionaries that
    import every model when their items are read, and torch has objects that warn when an attribute is read.

    Returns:
        How many holders reject the assignment; they keep `old`.
    """
    referrers, namespaces, refused = gc.get_referrers(old), list(_namespaces()), 0
    _rebind_in_objects(referrers, namespaces, old, new)
    holders = _holders(referrers, old, new)
    for namespace in namespaces:
        if holders is None or id(namespace) in holders:
            _rebind_in(namespace, old, new)
    left = None if holders is None else holders.difference(map(id, namespaces))
    for namespace in namespaces:
        if left is not None and not left:
            break  # the usual case; searching all containers takes three times as long as the steps before
        refused += _rebind_within(namespace, old, new, left)[1]
    return refused


def _is_copy(function: Any, old: Any) -> bool:
    """Whether a function has the code and the closure of `old`, and ``__wrapped__`` for it.

    The ``copy_func`` of transformers makes such copies to change a docstring. Other copies are left alone.
    """
    if type(function) is not types.FunctionType or type(old) is not types.FunctionType:  # isinstance asks proxies
        return False
    names_it = vars(function).get("__wrapped__") is old
    is_same = function.__code__ is old.__code__ and function.__globals__ is old.__globals__
    cells = [[id(cell) for cell in each.__closure__ or ()] for each in (function, old)]
    return names_it and is_same and cells[0] == cells[1]


def _copied(copy: types.FunctionType, new: types.FunctionType) -> types.FunctionType:
    """The function `new` with the name, the docstring and the attributes of a copy of another one."""
    made = types.FunctionType(new.__code__, new.__globals__, copy.__name__, new.__defaults__, new.__closure__)
    made.__kwdefaults__ = new.__kwdefaults__
    update_wrapper(made, copy)
    made.__wrapped__ = new  # type: ignore[attr-defined]  # update_wrapper has set the copy
    return made


def _rebind_within(namespace: dict[str, Any], old: Any, new: Any, left: Optional[set[int]]) -> tuple[int, int]:
    """Replace an object in a module.

    Args:
        namespace: of the module.
        old: the object.
        new: the next one.
        left: the identities of dictionaries and lists to search, from which those that were searched are removed; all
            if None.

    Returns:
        How many references were replaced, and how many holders rejected the assignment.
    """
    is_container, name_of_module = _Containers(), namespace.get("__name__")
    replaced, refused = _rebind_in(namespace, old, new), 0
    for value in list(namespace.values()):
        if issubclass(type(value), type):
            members = _CLASS_DICT.__get__(value)
            # On Python 3.9 static types have no dictionary until they are used.
            if members is None or members.get("__module__") != name_of_module:
                continue
            for name, held in list(members.items()):
                if held is old:
                    is_set = _is_set(value, name, new)
                    replaced, refused = replaced + is_set, refused + (not is_set)
                    _settle(gc.get_referents(members)[0], left)  # the dictionary behind a proxy
                elif is_container[type(held)] and (left is None or id(held) in left):
                    replaced += _rebind_in(held, old, new)
                    _settle(held, left)
        elif is_container[type(value)] and value is not namespace and (left is None or id(value) in left):
            replaced += _rebind_in(value, old, new)
            _settle(value, left)
    return replaced, refused


def _rebind_in_objects(referrers: list[Any], namespaces: list[dict[str, Any]], old: Any, new: Any) -> None:
    """Replace an object in cells of functions, in lists that are in cells, in attributes of objects, and in copies.

    The cells that `new` itself needs to reach the original stay, and so do hotfix's own objects.
    """
    known = {*map(id, namespaces), id(getattr(new, "__dict__", None))}
    inner = [each for each in referrers if type(each) in (dict, list) and id(each) not in known]
    outer = gc.get_referrers(*inner) if inner else []
    lists = {id(each) for each in inner if type(each) is list}
    needed = _cells_of(below_descriptor(new), below_descriptor(old))
    for holder in [*referrers, *outer]:
        if type(holder) is types.CellType:
            content = holder.cell_contents
            if content is old and id(holder) not in needed:
                holder.cell_contents = new
            elif id(content) in lists:
                _rebind_in(content, old, new)
        elif _is_copy(holder, old) and type(new) is types.FunctionType:
            rebind(holder, _copied(holder, new))
        elif _has_attributes(holder):
            with suppress(Exception):  # a class may have a `__dict__` of its own
                _rebind_in(object.__getattribute__(holder, "__dict__"), old, new)


def _has_attributes(holder: Any) -> bool:
    """Whether an object has a dictionary of attributes, and is neither searched by other means nor hotfix's own."""
    kind = type(holder)
    if issubclass(kind, (type, types.ModuleType, types.FunctionType)) or str(kind.__module__).startswith(
        f"{_PACKAGE}."
    ):
        return False
    return bool(kind.__dictoffset__)


def _cells_of(function: Any, end: Any) -> set[int]:
    """The identities of the cells of a function, and of the functions in them, as far as the function `end`."""
    cells: dict[int, Any] = {}
    left = [function]
    while left:
        each = left.pop()
        if type(each) in (types.MethodType, partial):
            left += gc.get_referents(each)
        elif each is not end and type(each) is types.FunctionType:
            new = [cell for cell in each.__closure__ or () if id(cell) not in cells]
            cells.update((id(cell), cell) for cell in new)
            left += [content for cell in new for content in gc.get_referents(cell)]
    return {*cells}


def _settle(holder: Any, left: Optional[set[int]]) -> None:
    if left is not None:
        left.discard(id(holder))


def _holders(referrers: list[Any], old: Any, new: Any) -> Optional[set[int]]:
    """The identities of the dictionaries and lists that hold `old`, except that of `new`; None if unknown."""
    if gc.get_freeze_count() or not gc.is_tracked(old):
        return None  # gc does not report frozen or untracked holders
    own = getattr(new, "__dict__", None)
    return {id(referrer) for referrer in referrers if issubclass(type(referrer), (dict, list)) and referrer is not own}


class _Containers(dict[type, bool]):
    """Whether objects of a type are searched; read some hundred thousand times, for some hundred types."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = kind is list or issubclass(kind, dict)
        return self[kind]


def _is_set(owner: type, name: str, value: Any) -> bool:
    try:
        setattr(owner, name, value)
    except Exception:  # a foreign metaclass may raise anything
        return False
    return True


def _rebind_in(container: Any, old: Any, new: Any) -> int:
    places: list[Any]
    if issubclass(type(container), dict):
        places = [key for key, held in list(dict.items(container)) if held is old]
        for key in places:
            dict.__setitem__(container, key, new)
    else:
        places = [index for index, held in enumerate(container) if held is old]
        for index in places:
            container[index] = new
    return len(places)


def _namespaces() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        # Neither getattr nor vars(): on a lazy module they would import the real one.
        if issubclass(type(module), types.ModuleType):
            namespace = _MODULE_DICT.__get__(module)
            if namespace is not None:  # a module created without its initializer has none
                yield namespace


def made_by(code: types.CodeType, module: Optional[types.ModuleType] = None) -> int:
    """How many live functions a function's code has created when it ran, such as the wrappers of a decorator.

    Args:
        code: the code of the function.
        module: search this module alone, which takes no time; everywhere if None.
    """
    inner = list(_codes_in(code))
    if not inner:
        return 0
    if module is None:
        return sum(isinstance(referrer, types.FunctionType) for referrer in gc.get_referrers(*inner))
    functions = (below_descriptor(held) for held in _held_in(module))
    return sum(isinstance(function, types.FunctionType) and function.__code__ in inner for function in functions)


def _held_in(module: types.ModuleType) -> Iterator[Any]:
    """The objects that a module and its own classes hold by name."""
    for held in list(_MODULE_DICT.__get__(module).values()):
        yield held
        if issubclass(type(held), type) and held.__module__ == module.__name__:
            yield from list(vars(held).values())


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_name not in _COMPREHENSIONS:
                yield const
            yield from _codes_in(const)


def unreachable(original: Any) -> int:
    """How many closures, partials and bound methods hold the original besides our own wrapper."""
    kinds = (types.CellType, types.MethodType, partial)
    return sum(isinstance(holder, kinds) for holder in gc.get_referrers(original)) - 1
