"""Names that a module or a class gives only to code that would fail without them (see `hotfix.asking`).

A module gets its own class, derived from its present class, with a descriptor for each name. Its dictionary does not
change: `hasattr`, ``dir()``, ``vars()`` and ``try: from module import name`` give the same results as before. A name
that other code sets in the module takes precedence, and so does the module's own ``__getattr__``. A class gets the
descriptor itself, so its ``dir()`` has one more name. A class further down the method resolution order takes
precedence. A dictionary of a module is replaced by a copy that can supply missing keys. A last finder supplies removed
modules to ``import`` statements that would fail; once a program has received such a module, the whole process has it.

Under ``torch.compile`` no frame of the program runs; the compiler's record of the traced code decides.

`received` records each name that was received, with the first place that used it.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, TypeVar

from ..errors import Refusal
from . import traced

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

BASE = "_hotfix_base"
"""The class attribute that holds the class a module had before."""


_Function = TypeVar("_Function", bound=Callable[..., Any])


def settled(function: _Function) -> _Function:
    """Mark a function whose result is a constant in a graph of ``torch.compile``.

    Its arguments must be names, classes or code. It is called while the graph is made, and is not traced: the state it
    reads and keeps would break the graph, or force a recompilation. ``torch.compiler.assume_constant_result`` sets the
    same attribute, but would import torch.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


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


def descriptor_of(module: types.ModuleType, name: str) -> Optional[Restored]:
    """The descriptor for a name that a module lacks, or None."""
    held = (vars(kind).get(name) for kind in type(module).__mro__)
    return next((each for each in held if isinstance(each, Restored)), None)


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


def _has_own_hook(subject: Any) -> bool:
    """Whether a module or an object has a ``__getattr__``."""
    if getattr(type(subject), "__getattr__", None) is not None:
        return True
    return isinstance(subject, types.ModuleType) and "__getattr__" in vars(subject)


_NOTHING = object()
_PARTS = ("_parameters", "_buffers", "_modules")  # of a module of torch


def _own_in_trace(instance: Any, name: str) -> Any:
    """A part of a module or the answer of an object's own ``__getattr__``, in steps that `torch.compile` can trace."""
    for parts in _PARTS:
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


class Received(NamedTuple):
    """A name that a program has received.

    Attributes:
        fix: id of the fix.
        place: the first place that used it, as ``train.py:7``.
    """

    fix: str
    place: str


_received: dict[str, Received] = {}
_listeners: list[Callable[[], None]] = []


def received() -> dict[str, Received]:
    """The names that this process has received because it would have failed without them, by ``module:qualname``."""
    return dict(_received)


def forget(target: str) -> None:
    """Forget a name that was removed."""
    _received.pop(target, None)
    _traced.discard(target)


def on_first(listener: Callable[[], None]) -> None:
    """Call a function when a name is received, if it is the first in this process or the first since `forget`."""
    if listener not in _listeners:
        _listeners.append(listener)


def note(target: str, fix: str, frame: Optional[types.FrameType]) -> None:
    """Record the first time that a name is received.

    Args:
        target: ``module:qualname``.
        fix: id of the fix.
        frame: the frame that used it, or a frame of importlib or hotfix that it called.
    """
    if not target or target in _received:
        return
    while frame is not None and f"{frame.f_globals.get('__name__')}.".startswith(_BETWEEN):
        frame = frame.f_back
    place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "unknown"
    is_first = not _received
    _received[target] = Received(fix, place)
    for listener in _listeners if is_first else ():
        listener()


_BETWEEN = ("importlib.", "hotfix.")
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
        if is_known and _asking.is_passed_on(error, frame.f_back):
            return self.value if self.find is None else self.find()
        value = self.answer(instance, owner, frame)
        if self.how == "module" and not _has_own_hook(instance):
            self._remember(frame, owner)
        return value

    def _remember(self, frame: types.FrameType, owner: type) -> None:
        """Note a place that has received the name from a module, so that only the frames above it are judged again."""
        error = _asking.leaving(AttributeError, frame, self.name, of_module=True)
        if error is not None and not _is_ours(frame):
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
            if not _is_needed_in_trace(self.name, self.target, self.fix, self.how):
                raise missing(instance, owner, self.name)
        if frame is not None and self.name not in getattr(instance, "__dict__", ()) and not _is_ours(frame):
            if not _is_needed(frame, self.name, self.how, self.target):
                if not is_module and _reads_all_names(frame) and (instance is None or self.name in dir(instance)):
                    return self._listed(instance, owner)
                raise missing(instance, owner, self.name)
            subject = owner if instance is None else instance
            if _has_own_hook(subject):
                try:
                    own = own_answer(subject, self.name)
                except AttributeError:
                    own = self  # it has none: the program would fail here
                if own is not self:  # a `__getattr__` that searches the class finds this descriptor
                    return own
            if instance is None and not is_module and _reads_all_names(frame):
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
        note(self.target, self.fix, frame)

    def __set_name__(self, owner: type, name: str) -> None:
        if self.anchor is None:  # otherwise a program makes a class with a copy of the namespace of the first
            self.anchor = owner
        self.how = "member"


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
    of_instance = (own, *(own[kind] for kind in _PARTS if isinstance(own.get(kind), dict)))
    for name in {name for kind in order for name, value in vars(kind).items() if isinstance(value, Restored)}:
        if any(name in vars(kind) and not isinstance(vars(kind)[name], Restored) for kind in order):
            continue
        left = max(names.count(name) - 1, 1) if any(name in space for space in of_instance) else 0
        while names.count(name) > left:
            names.remove(name)
    return names


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
        if not self.target or self.target in _received:
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
            if instance is None or frame is None or _is_by_name(frame, self.name):
                raise
        error = _NoItems if _asking.asker(frame, _SUBSCRIPT) == "unknown" else TypeError
        raise error(f"{owner.__name__!r} object is not subscriptable")

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.how = "item"


class _NoItems(TypeError, AttributeError):
    """The error of an index and of a name, since code in C may have used either."""


_NoItems.__name__ = _NoItems.__qualname__ = "TypeError"  # which it nearly always is
_NoItems.__module__ = "builtins"


class Entries(dict):  # type: ignore[type-arg]
    """A dictionary of a module, with keys that only code gets that would fail without them.

    Args:
        original: the dictionary that it replaces.
    """

    def __init__(self, original: dict[Any, Any]) -> None:
        super().__init__(original)
        self.original = original
        self.restored: dict[Any, Restored] = {}

    def __missing__(self, key: Any) -> Any:  # pragma: no mutate block
        entry = self.restored.get(key)
        if entry is None:
            raise KeyError(key)
        if is_compiling():
            if not _is_needed_in_trace(entry.name, entry.target, entry.fix, "key"):
                raise KeyError(key)
            return entry.value
        frame = sys._getframe(1)
        if not _is_ours(frame):
            if not _is_needed(frame, entry.name, "key"):
                raise KeyError(key)
            entry.give(frame)
        return entry.value

    def __reduce__(self) -> Any:
        """Copy and pickle it as a plain dictionary."""
        return dict, (dict(self),)

    def as_it_was(self) -> dict[Any, Any]:
        """The original, updated with all changes made since."""
        self.original.clear()
        self.original.update(self)
        return self.original


_SUBSCRIPT = "[]"  # `hotfix.asking.SUBSCRIPT`, which is imported on first use


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


_asking: Any = None


def prepare() -> None:
    """Import the module that inspects frames.

    Not at the top, because most processes repair nothing. Not at first use either: that is in the program's own calls,
    and hotfix may be gone from `sys.modules` by then.
    """
    global _asking
    from .. import asking

    _asking = asking


def would_end(error: type[BaseException], frame: types.FrameType, name: str = "", of_module: bool = False) -> bool:
    """See `hotfix.asking.would_end`."""
    return bool(_asking.would_end(error, frame, name, of_module))


def sets(frame: types.FrameType, name: str) -> bool:
    """See `hotfix.asking.sets`."""
    return bool(_asking.sets(frame, name))


def imports_all(frame: types.FrameType) -> bool:
    """See `hotfix.asking.imports_all`."""
    return bool(_asking.imports_all(frame))


def left_open(frame: types.FrameType, given: Iterable[str]) -> tuple[list[str], set[str]]:
    """See `hotfix.asking.left_open`."""
    names, read = _asking.left_open(frame, given)
    return names, read


_traced: set[str] = set()
"""Module names that traced code has received: the compiler reads them again, in C, to check that they are the same."""


def _is_needed(frame: types.FrameType, name: str, how: str, target: str = "") -> bool:
    """Whether the program would fail without a name, an item or a key."""
    if target in _granted.get():
        return True
    if target in _traced and not _is_by_name(frame, name):
        return True
    if how == "key":
        return would_end(KeyError, frame, _SUBSCRIPT)
    if how == "item" and would_end(TypeError, frame, _SUBSCRIPT):
        return True
    return would_end(AttributeError, frame, name, of_module=how == "module")


@settled
def _is_needed_in_trace(name: str, target: str, fix: str, how: str) -> bool:
    """The same for code that `torch.compile` traces; records the name if it is given."""
    frame = traced.asking(__name__)
    if frame is None or not (_is_ours(frame) or _is_needed(frame, name, how, target)):
        return False
    if target and how == "module":
        _traced.add(target)
    note(target, fix, frame)
    return True


_granted: ContextVar[frozenset[str]] = ContextVar("granted", default=frozenset())


@contextmanager
def granting(target: str) -> Iterator[None]:
    """Give a name to all code, while a fix runs code of the program's that the release itself would not run.

    Args:
        target: ``module:qualname``.
    """
    token = _granted.set(_granted.get() | {target})
    try:
        yield
    finally:
        _granted.reset(token)


def _is_ours(frame: types.FrameType) -> bool:
    """Whether the frame belongs to hotfix, as when a fix uses one of its own parts."""
    return str(frame.f_globals.get("__name__")).startswith("hotfix.")


def _is_by_name(frame: types.FrameType, name: str) -> bool:
    """Whether code reads an attribute of this name, with a dot or with `getattr` and the like."""
    return bool(_asking.asker(frame, name) != "unknown")


_LISTING = frozenset(("dir", "vars", "__dict__"))


def _reads_all_names(frame: types.FrameType) -> bool:
    """Whether code lists all names of a class (`dir`, `vars`) and reads them with `getattr(object, variable)`."""
    lists = not _LISTING.isdisjoint(frame.f_code.co_names)
    if frame.f_code.co_name.startswith("<") and frame.f_back is not None:  # a comprehension gets the list
        lists = lists or not _LISTING.isdisjoint(frame.f_back.f_code.co_names)
    if not lists or _asking.handles(AttributeError, frame):  # `inspect.getmembers` skips what is not there
        return False
    return bool(_asking.asker(frame, "()") == "plain")  # no attribute has this name: it is a call of `getattr`


def is_compiling() -> bool:
    """Whether `torch.compile` traces this call: then no frame may be read."""
    if _torch_is_old():
        return _old_torch_traces()
    compiler: Any = sys.modules.get("torch.compiler")
    return compiler is not None and bool(compiler.is_compiling())


@settled
def _torch_is_old() -> bool:
    """Whether torch is older than 2.3, which cannot answer, and traces no access to `sys.modules`."""
    return "torch" in sys.modules and not hasattr(sys.modules.get("torch.compiler"), "is_compiling")


@settled
def _old_torch_traces() -> bool:
    context: Any = getattr(sys.modules.get("torch._guards"), "TracingContext", None)
    now = getattr(context, "try_get", None) or getattr(context, "get", None)  # 2.0 and 2.1 have the second one
    return now is not None and now() is not None


def missing(instance: Any, owner: type, name: str) -> AttributeError:
    """The error that Python itself would raise."""
    subject = owner if instance is None else instance
    if isinstance(subject, types.ModuleType):
        text = f"module {subject.__name__!r} has no attribute {name!r}"
    elif instance is None:
        text = f"type object {owner.__name__!r} has no attribute {name!r}"
    else:
        text = f"{type(instance).__name__!r} object has no attribute {name!r}"
    error = AttributeError(text)
    if sys.version_info >= (3, 10) and not is_compiling():
        error.name, error.obj = name, subject
    return error


def cannot_import(module: types.ModuleType, name: str, line: str) -> Exception:
    """The error of ``from module import name``, with one more line; a submodule of that name comes first.

    Args:
        module: the module.
        name: what it lacks.
        line: the line: a note, or part of the text before Python 3.11.

    Returns:
        The error; an AttributeError if such a statement finds the name without the module's help.
    """
    if f"{module.__name__}.{name}" in sys.modules:  # the statement takes this one then
        return AttributeError(name)
    file = getattr(module, "__file__", None)
    where = file if isinstance(file, str) else "unknown location"
    error = ImportError(
        f"cannot import name {name!r} from {module.__name__!r} ({where})", name=module.__name__, path=file
    )
    if hasattr(error, "name_from"):  # since Python 3.12
        error.name_from = name
    shown: Exception = with_line(error, line)
    return shown


def with_line(error: Any, line: str) -> Any:
    """Add one line to an error."""
    if hasattr(error, "add_note"):
        error.add_note(line)
    else:
        error.args = (f"{error.args[0]}\n{line}", *error.args[1:])
        if isinstance(error, ImportError):
            error.msg = error.args[0]
    return error


def imports(frame: types.FrameType) -> bool:
    """Whether a frame is at a ``from module import name``.

    Python 3.9 and 3.10 point at the prefix of an instruction whose name index is above 255.
    """
    from opcode import opmap

    code, at = frame.f_code.co_code, frame.f_lasti
    while code[at] == opmap["EXTENDED_ARG"]:
        at += 2
    return code[at] == opmap["IMPORT_FROM"]


def _reduce(self: Any) -> Any:
    """Pickle such a module as its original class does; a plain module, which cannot be pickled, by its name."""
    kind = class_of(self)
    base = vars(kind)[BASE]
    if base is types.ModuleType:
        from importlib import import_module

        return import_module, (self.__name__,)
    made = base.__reduce__(self)
    return (base, *made[1:]) if made[0] in (kind, type(self)) else made


# ---------------------------------------------------------------------------------------------------------------------
# Below: removed modules.


class _Given:
    """Loads a module that exists already."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: it was executed when it was made."""


_Find = Callable[[str], Optional[types.ModuleType]]


class Modules:
    """The finder for removed modules."""

    def __init__(self) -> None:
        self._modules: dict[str, tuple[types.ModuleType, str]] = {}  # each with its fix
        self._others: dict[_Find, str] = {}
        self._given: dict[str, _Find] = {}

    def put(self, name: str, module: types.ModuleType, fix: str = "") -> None:
        """Register a module for imports that would fail."""
        self._modules[name] = module, fix
        self._attach()

    def listen(self, find: _Find, fix: str) -> None:
        """Register a function that returns the module of a name, or None; `fix` is its fix id."""
        self._others[find] = fix
        self._attach()

    def unlisten(self, find: _Find) -> None:
        """Undo `listen`, and remove the modules that the program received from it."""
        self._others.pop(find, None)
        for name, given in list(self._given.items()):
            if given == find:
                del self._given[name]
                forget(":".join(name.rpartition(".")[::2]))
                self._drop(name, sys.modules.get(name))
        self._detach_if_empty()

    def known(self, name: str) -> Optional[types.ModuleType]:
        """The registered module of this name, or None."""
        return self._modules.get(name, (None, ""))[0]

    def take(self, name: str) -> None:
        """Forget a module, and remove it from `sys.modules` and its package."""
        self._drop(name, self._modules.pop(name, (None, ""))[0])
        self._detach_if_empty()

    def _attach(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def _detach_if_empty(self) -> None:
        if not self._modules and not self._others and self in sys.meta_path:
            sys.meta_path.remove(self)

    def _drop(self, name: str, module: Optional[types.ModuleType]) -> None:
        package, _, last = name.rpartition(".")
        if module is not None and sys.modules.get(name) is module:
            del sys.modules[name]
        if module is not None and vars(sys.modules.get(package, module)).get(last) is module:
            delattr(sys.modules[package], last)

    def _module_of(self, name: str) -> tuple[Optional[types.ModuleType], str, Optional[_Find]]:
        """The removed module of this name, its fix, and the function that returned it; a registered one has none."""
        if name in self._modules:
            return (*self._modules[name], None)
        for find, fix in self._others.items():
            module = find(name)
            if module is not None:
                return module, fix, find
        return None, "", None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """The spec of the module, if the program would fail without it."""
        module, fix, find = self._module_of(name)
        if module is None:
            return None
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__") == "hotfix.watch" and frame.f_back is not None:
            frame = frame.f_back
        later = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else []
        for finder in later:  # the program has added it since
            spec: Optional[ModuleSpec] = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        if not would_end(ModuleNotFoundError, frame):
            return None
        package, _, last = name.rpartition(".")
        note(f"{package}:{last}", fix, frame)
        if find is not None:
            self._given[name] = find
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _Given(module), origin="hotfix")  # type: ignore[arg-type]  # it has the methods of a loader


MODULES = Modules()
