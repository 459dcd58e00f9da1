"""Descriptors for names that only code gets that would fail without them."""

from __future__ import annotations

import sys
import types
from typing import Any, Callable, Optional

from ..compiling import is_compiling, settled
from . import need, receipts
from .absence import missing
from .module_class import has_own_hook, own_answer

_NOTHING = object()
PARTS = ("_parameters", "_buffers", "_modules")  # of a module of torch
_MOST_PLACES = 64  # for each name
_UNKNOWN = (None, None, None)


class Restored:
    """A name that only code gets that would fail without it.

    Args:
        name: the name.
        value: the object behind the name; for a class, the object that its dictionary would hold.
        find: returns the object, if it is not known yet.
        target: ``module:qualname`` of the name; empty if receiving it is not recorded.
        fix: id of the fix.

    Attributes:
        anchor: the class that has it; None in a module.
        how: the kind of access: a name of a ``module``, a ``member`` of a class, or an ``item``.
    """

    def __init__(
        self,
        name: str,
        value: Any = None,
        find: Optional[Callable[[], Any]] = None,
        target: str = "",
        fix: str = "",
    ) -> None:
        self.name = name
        self.value = value
        self.find = find
        self.target = target
        self.fix = fix
        self.anchor: Optional[type] = None
        self.how = "module"
        self._known: dict[tuple[int, int], Any] = {}  # the code, the owner, and the error that leaves the place

    def __get__(self, instance: Any, owner: type) -> Any:  # pragma: no mutate block
        # This method inspects the calling statement; with a mutant, that is a statement of mutmut's wrapper.
        if instance is None and issubclass(owner, types.ModuleType):
            return self
        if is_compiling():
            return self.answer(instance, owner, None)
        frame = sys._getframe(1)
        code, kind, error = self._known.get((id(frame.f_code), frame.f_lasti), _UNKNOWN)
        is_known = code is frame.f_code and kind is owner and "__getattr__" not in instance.__dict__
        if is_known and need.is_passed_on(error, frame.f_back):
            return self.value if self.find is None else self.find()
        value = self.answer(instance, owner, frame)
        if self.how == "module" and not has_own_hook(instance):
            self._remember(frame, owner)
        return value

    def _remember(self, frame: types.FrameType, owner: type) -> None:
        """Note a place that has received the name from a module, so that only the frames above it are judged again."""
        error = need.leaving(AttributeError, frame, self.name, of_module=True)
        if error is not None and not need.is_ours(frame):
            if len(self._known) >= _MOST_PLACES:
                self._known.clear()
            self._known[id(frame.f_code), frame.f_lasti] = frame.f_code, owner, error

    def answer(self, instance: Any, owner: type, frame: Optional[types.FrameType]) -> Any:
        """The value for the code that uses the name.

        Args:
            instance: the instance; None for a class.
            owner: its class.
            frame: the frame that uses the name; None under `torch.compile`.

        Raises:
            AttributeError: the program works without the name.
        """
        is_module = issubclass(owner, types.ModuleType)
        if not is_module and self.anchor is not None and _is_copied(self.anchor, owner):
            raise missing(instance, owner, self.name)
        if instance is None and frame is not None and not is_module:
            own = _of_metaclass(owner, self.name)
            if own is not _NOTHING:
                return own
        if not is_module and self.anchor is not None and _is_further_down(self.anchor, self.name, owner):
            return getattr(super(self.anchor, owner if instance is None else instance), self.name)
        if frame is None:
            if not (is_module or instance is None):
                own = _own_in_trace(instance, self.name)
                if own is not _NOTHING:
                    return own
            if not need.is_needed_in_trace(self.name, self.target, self.fix, self.how):
                raise missing(instance, owner, self.name)
        if frame is not None and self.name not in getattr(instance, "__dict__", ()) and not need.is_ours(frame):
            if not need.is_needed(frame, self.name, self.how, self.target):
                if not is_module and need.reads_all_names(frame) and (instance is None or self.name in dir(instance)):
                    return self._listed(instance, owner)
                raise missing(instance, owner, self.name)
            subject = owner if instance is None else instance
            if has_own_hook(subject):
                try:
                    own = own_answer(subject, self.name)
                except AttributeError:
                    own = self  # it has none: the program would fail here
                if own is not self:  # a `__getattr__` that searches the class finds this descriptor
                    return own
            if instance is None and not is_module and need.reads_all_names(frame):
                return self._listed(instance, owner)
            self.give(frame)
        value = self.value if self.find is None else self.find()
        return value if is_module else _bound(value, instance, owner)

    def _listed(self, instance: Any, owner: type) -> Any:
        """The value for code that reads every listed name: no error, and for a class the descriptor itself."""
        if instance is None:
            return self
        value = self.value if self.find is None else self.find()
        try:
            return _bound(value, instance, owner)
        except AttributeError:
            return value

    def give(self, frame: Optional[types.FrameType]) -> None:
        """Record that a program has received the name."""
        receipts.note(self.target, self.fix, frame)

    def __set_name__(self, owner: type, name: str) -> None:
        if self.anchor is None:  # otherwise a program makes a class with a copy of the namespace of the first
            self.anchor = owner
        self.how = "member"


class Writable(Restored):
    """A restored name that programs can assign to once they have received it.

    A program that assigns without ever reading the name works without it: it sets an attribute of its own.
    """

    def answer(self, instance: Any, owner: type, frame: Optional[types.FrameType]) -> Any:
        """The value for the code that uses the name; the instance's own attribute comes first."""
        if instance is not None and self.name in instance.__dict__:
            return instance.__dict__[self.name]
        return super().answer(instance, owner, frame)

    def __set__(self, instance: Any, value: Any) -> None:
        if not self.target or receipts.has(self.target):
            self.value.__set__(instance, value)
        else:
            instance.__dict__[self.name] = value

    def __delete__(self, instance: Any) -> None:
        if self.name in instance.__dict__:
            del instance.__dict__[self.name]
        else:
            raise missing(instance, type(instance), self.name)


class Subscript(Restored):
    """The method ``__getitem__`` of a class whose objects no longer have items."""

    def answer(self, instance: Any, owner: type, frame: Optional[types.FrameType]) -> Any:
        """The value for the code that uses the method.

        Raises:
            TypeError, AttributeError: the program works without items.
        """
        try:
            return super().answer(instance, owner, frame)
        except AttributeError:
            if instance is None or frame is None or need.is_by_name(frame, self.name):
                raise
        error = _NoItems if not need.is_indexed(frame) else TypeError
        raise error(f"{owner.__name__!r} object is not subscriptable")

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.how = "item"


class _NoItems(TypeError, AttributeError):
    """The error of an index and of a name, since code in C may have used either."""


_NoItems.__name__ = _NoItems.__qualname__ = "TypeError"  # which it nearly always is
_NoItems.__module__ = "builtins"


def descriptor_of(module: types.ModuleType, name: str) -> Optional[Restored]:
    """The descriptor for a name that a module lacks, or None."""
    held = (vars(kind).get(name) for kind in type(module).__mro__)
    return next((each for each in held if isinstance(each, Restored)), None)


def _own_in_trace(instance: Any, name: str) -> Any:
    """A part of a module or the answer of an object's own ``__getattr__``, in steps that `torch.compile` can trace."""
    for parts in PARTS:
        space = instance.__dict__.get(parts)
        if space is not None and name in space:
            return space[name]
    hook = getattr(type(instance), "__getattr__", None)
    if hook is not None and not _is_of_torch(type(instance)):
        try:
            own = hook(instance, name)
        except AttributeError:
            return _NOTHING
        return _NOTHING if isinstance(own, Restored) else own
    return _NOTHING


@settled
def _is_of_torch(kind: type) -> bool:
    """Whether the ``__getattr__`` of a class is that of `torch.nn.Module`, which looks for parts."""
    return str(getattr(getattr(kind, "__getattr__", None), "__module__", "")).startswith("torch.")


def _of_metaclass(owner: type, name: str) -> Any:
    """What a class has from its metaclass, or `_NOTHING`."""
    metaclass: Any = type(owner)
    for kind in () if metaclass is type else metaclass.__mro__:
        if name in vars(kind):
            return _bound(vars(kind)[name], owner, metaclass)
    return _NOTHING


@settled
def _is_copied(anchor: type, owner: type) -> bool:
    """Whether a class has the descriptor of another one, because a program has copied the namespace of that."""
    return anchor not in owner.__mro__


@settled
def _is_further_down(anchor: type, name: str, owner: type) -> bool:
    """Whether a class after `anchor` in the method resolution order of `owner` has the name, and not from hotfix."""
    mro = owner.__mro__
    own = (vars(kind).get(name, _NOTHING) for kind in mro[mro.index(anchor) + 1 :])
    return any(value is not _NOTHING and not isinstance(value, Restored) for value in own)


def _bound(value: Any, instance: Any, owner: type) -> Any:
    """The result of reading a value from a class dictionary, in steps that `torch.compile` can trace."""
    if isinstance(value, types.FunctionType):
        return value.__get__(instance, owner)
    if isinstance(value, property) and value.fget is not None:
        return value if instance is None else value.fget(instance)
    if isinstance(value, staticmethod):
        return value.__func__
    bind = getattr(type(value), "__get__", None)
    return value if bind is None else bind(value, instance, owner)
