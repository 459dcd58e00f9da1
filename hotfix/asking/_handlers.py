"""Follows an error through one frame: every handler that it can meet there, on all paths."""

from __future__ import annotations

import builtins
import contextlib
import functools
import os
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple, Optional

from ._bytecode import CALLS, ENDS, HAS_TABLE, NAMES, Code

Error = Optional[type[BaseException]]
"""The class of an error, or None if unknown."""

NOT_OF_THE_PROGRAM = "_hotfix_error"
"""The local variable that marks a handler inserted by a tool; such a handler does not count."""

_UNKNOWN = object()
_UNBOUND = ("", -1)
_NAMED = (ImportError, AttributeError)
_BROAD = (Exception, BaseException)
_STACKS = (contextlib.ExitStack, contextlib.AsyncExitStack)
_GENERATED = (contextlib._GeneratorContextManager, contextlib._AsyncGeneratorContextManager)
_MOST_DELEGATES = 2
_HANDLERS = ("named", "unknown", "broad")
_COLLECTIONS = (list, set, frozenset, dict)
_MOST_CLASSES = 100  # in one list
_STOPPING = ("suppress", "raises", "assertRaises", "assertRaisesRegex")
_EXITS = [sys.exit, os._exit, os.abort, *(getattr(builtins, name, sys.exit) for name in ("exit", "quit"))]
_WITH_ATTRIBUTES = (types.ModuleType, types.FunctionType, type)
_BEFORE_AS = ("POP_TOP", "EXTENDED_ARG", "CACHE")


class Fate(NamedTuple):
    """The fate of an error in a frame.

    Attributes:
        escapes: the classes of the errors that can leave the frame.
        caught: a pair for each thing that can stop it. First ``named``, ``broad`` or, if it computes its classes,
            ``unknown`` for a handler, or ``manager`` for an unknown context manager. Second its effect: ``nothing`` if
            it neither calls anything nor keeps the error, ``instead`` if the frame uses the requested value and now
            has a substitute, ``reports`` if it reports the error.
        is_of_now: whether it depends on the present values of variables, or on what a name of the module stands for
            that is not the class's or the function's own.
        answers: whether a handler ends with ``return True`` or ``return False``.
    """

    escapes: frozenset[Error]
    caught: frozenset[tuple[str, str]]
    is_of_now: bool = False
    answers: bool = False


class _State(NamedTuple):
    at: int
    error: Error
    start: int = -1  # start of the running handler
    handled: tuple[Error, ...] = ()  # the errors whose handlers are running, innermost last
    how: str = "broad"
    does: str = "nothing"
    bound: tuple[str, int] = _UNBOUND  # the variable of `except ... as variable`


class _Earlier(BaseException):
    """Represents an error that was already being handled before the current one."""


class _Made(BaseException):
    """Represents an error that a function of the program makes of another one, to raise it."""


class Walk:
    """The paths of an error through the handlers of one code object.

    Args:
        code: the code that is running.
        look_up: returns the value of a global name, or raises KeyError.
        local: the frame that runs it, for the values of its variables; None if there is none.
    """

    def __init__(self, code: Code, look_up: Callable[[str], Any], local: Optional[types.FrameType] = None) -> None:
        self._code = code
        self._look_up = look_up
        self._local = local
        self._is_of_now = False
        self._escapes: set[Error] = set()
        self._caught: set[tuple[str, str]] = set()
        self._is_used = False
        self._answers = False
        self._todo: list[_State] = []

    def fate(self, at: int, error: Error) -> Fate:
        """The fate of an error that an instruction raises."""
        seen: set[_State] = set()
        self._is_used = self._code.is_used(at)
        self._throw(_State(at, error))
        while self._todo:
            state: Optional[_State] = self._todo.pop()
            while state is not None and state not in seen:
                seen.add(state)
                state = self._step(state)
        return Fate(frozenset(self._escapes), frozenset(self._caught), self._is_of_now, self._answers)

    def value(self, at: int, of_now: bool = False) -> Any:
        """The value that an instruction pushes, if it is a global name, an attribute of one, a constant or a tuple.

        Args:
            at: the instruction.
            of_now: whether the present value of a local variable, or of one of its attributes, will do.
        """
        code, name = self._code, self._code.name(at)
        try:
            if name in ("LOAD_NAME", "LOAD_GLOBAL"):
                return self._known(self._look_up(code.named(at)), at, of_now)
            if name in ("LOAD_ATTR", "LOAD_METHOD"):
                base = self.value(code.pushed_by(at), of_now)
                if isinstance(base, _WITH_ATTRIBUTES):
                    return self._known(vars(base)[code.named(at)], at, of_now)
                return _attribute(base, code.named(at)) if of_now and base is not _UNKNOWN else _UNKNOWN
            if of_now and self._local is not None and (variable := code.local(at)) is not None:
                self._is_of_now = True
                return self._local.f_locals[variable]
        except KeyError:
            return _UNKNOWN
        if name == "BUILD_TUPLE":
            return tuple(self.value(code.pushed_by(at, above), of_now) for above in range(code.argument(at)))
        return code.object.co_consts[code.argument(at)] if name == "LOAD_CONST" else _UNKNOWN

    def _known(self, value: Any, at: int, of_now: bool) -> Any:
        """A value, noted as a present one unless it is a module, or a class or a function under its own name."""
        if of_now and not self._is_of_now and not isinstance(value, types.ModuleType):
            has_name = isinstance(value, (*_WITH_ATTRIBUTES, types.BuiltinFunctionType))
            self._is_of_now = not has_name or value.__name__ != self._code.named(at)
        return value

    # -- one step ------------------------------------------------------------------------------------------------------

    def _throw(self, state: _State) -> Optional[_State]:
        """The instruction of a state raises its error: the handler is next, or the error escapes."""
        start = self._code.handler(state.at)
        if start is None:
            self._escapes.add(state.error)
            return None
        handled = state.handled
        if not HAS_TABLE:
            if state.start < 0:
                handled = (_Earlier,) * self._code.blocks(state.at).count(None)
            outside = self._code.blocks(start).count(None) - 1
            handled = (*handled[:outside], state.error)
        self._todo.append(state._replace(at=start, start=start, handled=handled))
        return None

    def _catch(self, how: str, does: str) -> Optional[_State]:
        """The error may end here, and with it the path."""
        self._caught.add((how, "instead" if does == "calls" and self._is_used else does))
        return None

    def _step(self, state: _State) -> Optional[_State]:
        """Follow one instruction; None if the path ends."""
        code, at = self._code, state.at
        name, target = code.name(at), code.jump(at)
        if name == "PUSH_EXC_INFO":
            return state._replace(at=at + 2, handled=(*state.handled, state.error))
        if name in ("CHECK_EXC_MATCH", "JUMP_IF_NOT_EXC_MATCH"):
            return self._match(state)
        if name == "WITH_EXCEPT_START":
            return self._leave_block(state)
        if name == "RERAISE":
            return self._throw(state)
        if name == "RAISE_VARARGS":
            return self._throw(state._replace(error=self._raised(state)))
        if name == "CHECK_EG_MATCH":  # except*
            return self._catch("named", "calls")
        if name.startswith("YIELD") and str(self._look_up("__name__")).startswith(_RESUMED):
            return state._replace(at=at + 2)
        if name in ENDS or name.startswith("YIELD"):
            return self._catch(state.how, state.does)
        if name == "POP_EXCEPT":
            state = state._replace(at=at + 2, handled=state.handled[:-1])
            if code.name(at - 2) == "COPY" and code.name(at + 2) == "RERAISE":
                return state  # cleaning up, before the error goes on
            if all(kind is _Earlier for kind in state.handled):
                self._answers = self._answers or self._returns_bool(state.at)
                return self._catch(state.how, state.does)
            return state._replace(error=state.handled[-1])
        if name in CALLS and self.value(code.call(at)[0]) in _EXITS:
            return self._throw(state._replace(error=SystemExit))
        if target is not None and not name.startswith("SETUP_"):
            if not (name.startswith("JUMP_") and "IF" not in name):
                self._todo.append(state._replace(at=at + 2))
            return state._replace(at=target)
        if state.bound != _UNBOUND and name.startswith("STORE_") and code.variable(code.pushed_by(at)) == state.bound:
            return state._replace(at=at + 2, does="reports")  # the error is kept, to be raised or shown later
        is_read = state.bound != _UNBOUND and state.bound in code.loads(at)
        does = "calls" if state.does == "nothing" and (is_read or "CALL" in name) else state.does
        return state._replace(at=at + 2, does=does)

    def _returns_bool(self, at: int) -> bool:
        """Whether the code, after it has let go of the error, returns a truth value and does nothing else."""
        name, constant = self._code.name(at), None
        while name in ("LOAD_CONST", "NOP", "CACHE") or name.startswith(("STORE_", "DELETE_", "RETURN_")):
            if name.endswith("_CONST"):
                constant = self._code.object.co_consts[self._code.argument(at)]
            if name.startswith("RETURN_"):
                return isinstance(constant, bool)
            at += 2
            name = self._code.name(at)
        return False

    def _match(self, state: _State) -> Optional[_State]:
        """Follow an except clause: the path on which it matches, the path on which it does not, or both."""
        code, at = self._code, state.at
        classes = _classes(self.value(code.pushed_by(at), of_now=True))
        matches = _matches(state.error, classes)
        while (target := code.jump(at)) is None:
            at += 2
        keeps = at + 2
        while code.name(keeps) in _BEFORE_AS:
            keeps += 2
        bound = code.variable(keeps, stores=True) if code.name(keeps).startswith("STORE_") else _UNBOUND
        if bound[0].startswith("FAST") and code.object.co_varnames[bound[1]] == NOT_OF_THE_PROGRAM:
            matches = False
        if matches is not True:
            self._todo.append(state._replace(at=target))
        if matches is False:
            return None
        return state._replace(at=at + 2, how=_how(state.error, classes), bound=bound)

    def _leave_block(self, state: _State) -> Optional[_State]:
        """Follow the end of a `with` block: its context manager stops the error, lets it through, or is unknown."""
        stops, how = self._stops(self._code.manager(state.start), state.error)
        if stops is not False:
            self._catch(how, "nothing" if stops else "reports")  # an unknown one may report it
        if stops is not True:
            at = state.at
            while self._code.name(at) != "RERAISE":
                at += 2
            self._throw(state._replace(at=at))
        return None

    def _raised(self, state: _State) -> Error:
        """The class of the error that a raise statement raises."""
        code, count = self._code, self._code.argument(state.at)
        source = code.pushed_by(state.at, count - 1) if count else -1
        is_made = code.name(source) in CALLS
        if is_made:
            source = code.call(source)[0]
        if count == 0 or (source >= 0 and code.variable(source) == state.bound):
            return state.handled[-1] if state.handled else state.error
        if not is_made and code.name(source).startswith("LOAD_FAST"):
            return self._assigned(code.variable(source))  # on the way there, so that its present value is none
        value = self.value(source, of_now=is_made or "DEREF" in code.name(source))
        if isinstance(value, type) and issubclass(value, BaseException):
            return value
        return _Made if is_made and isinstance(value, types.FunctionType) else None

    def _assigned(self, variable: tuple[str, int]) -> Error:
        """The class of the error that a local variable gets, if there is only one."""
        code, kinds = self._code, set()
        for at in range(0, len(code.raw), 2):
            if code.name(at).startswith("STORE_FAST") and code.variable(at, stores=True) == variable:
                source = code.pushed_by(at)
                kinds.add(self.value(code.call(source)[0]) if code.name(source) in CALLS else None)
        kind = kinds.pop() if len(kinds) == 1 else None
        return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None

    # -- context managers ----------------------------------------------------------------------------------------------

    def _stops(self, manager: int, error: Error) -> tuple[Optional[bool], str]:
        """Whether a context manager stops an error (None if unknown), and how."""
        code = self._code
        if code.name(manager) not in (*CALLS, "CALL_FUNCTION_EX"):
            return _object_stops(self.value(manager, of_now=True), error)
        callee, arguments = code.call(manager)
        name = code.name(callee)
        value: Any = self.value(callee, of_now=True)
        last = code.named(callee) if name.startswith("LOAD_") and name[5:] in _WITH_A_NAME else ""
        if last == "_recreate_cm":  # a context manager as a decorator
            return _object_stops(self.value(code.pushed_by(callee), of_now=True), error)
        given = [self.value(argument, of_now=True) for argument in arguments]
        while isinstance(value, functools.partial):
            bound: Any = value
            value, given = bound.func, [*bound.args, *given]
        if value is contextlib.suppress or last in _STOPPING:
            classes = _classes(tuple(given if value is contextlib.suppress else given[:1]))
            return _matches(error, classes), _how(error, classes)
        if isinstance(value, type) and issubclass(value, _STACKS):
            how = _class_stops(value, error)[1]
            if how != "named" and (self._mentions(error) or any(self._is_entered(error))):
                how = "named"
            return None, how or "manager"
        return _as_given(_made_stops(getattr(value, "__func__", value), error), given, error)

    def _mentions(self, error: Error) -> bool:
        """Whether the code, or code inside of it, refers to `suppress` or to a class that matches an error."""
        names = {name for code in codes_of(self._code.object) for name in code.co_names}
        kinds = []
        for name in names:
            with contextlib.suppress(KeyError):
                kinds.append(self._look_up(name))
        return "suppress" in names or _names_class(kinds, error) is True

    def _is_entered(self, error: Error) -> Iterator[bool]:
        """For each stack of context managers in a local variable: whether one on it stops an error."""
        if self._local is not None:
            self._is_of_now = True
            for value in list(self._local.f_locals.values()):
                if isinstance(value, _STACKS):
                    yield _object_stops(value, error)[1] in _HANDLERS


_RESUMED = "datasets."
"""A package whose generators yield progress in a handler and raise when they are resumed, which they always are."""
_OF_FILES = ("bz2", "codecs", "gzip", "io", "lzma", "os", "tempfile", "unittest.mock")
"""Modules whose functions open files, or replace an attribute for a while: leaving a file or a patch stops no error."""
_OF_STEPS = ("compute_loss_context_manager", "autocast_smart_context_manager")
"""Methods of the library's Trainer that make a context manager; an override may return one that handles errors."""
_OF_TESTS = ("_pytest.python_api", "_pytest.raises", "unittest.case")
_WITH_A_NAME = ("NAME", "GLOBAL", "ATTR", "METHOD")


def has_a_manager(frame: types.FrameType, error: type[BaseException]) -> bool:
    """Whether a command of click has entered a context manager that handles an error, with ``ctx.with_resource``."""
    contexts = [value for value in frame.f_locals.values() if type(value).__module__ == "click.core"]
    return any("_exit_stack" in _own(each) and _object_stops(each, error)[1] in _HANDLERS for each in contexts)


def looking_up(names: dict[str, Any], local: Optional[dict[str, Any]] = None) -> Callable[[str], Any]:
    """A function that returns the value of a name in a module, without calling any code of the module."""

    def look_up(name: str) -> Any:
        for space in (local or {}, names):
            if name in space:
                return space[name]
        return vars(builtins)[name]

    return look_up


def _attribute(subject: Any, name: str) -> Any:
    """An attribute as it is stored in an object or its class, or `_UNKNOWN`; no code of the object runs."""
    spaces = (_own(subject), *map(vars, type(subject).__mro__))
    return next((space[name] for space in spaces if name in space), _UNKNOWN)


def _own(subject: Any) -> dict[str, Any]:
    """The values that an object stores under names; no code of the object runs."""
    try:
        own: dict[str, Any] = object.__getattribute__(subject, "__dict__")
    except AttributeError:  # it has slots
        own = {}
    return own


def _object_stops(value: Any, error: Error) -> tuple[Optional[bool], str]:
    """Whether a context manager that exists stops errors (None if unknown), and how."""
    if value is _UNKNOWN:
        return None, "manager"
    if type(value).__module__ == "click.core":  # a Context, which hands errors to what was entered on it
        return _object_stops(_own(value).get("_exit_stack", _UNKNOWN), error)
    made = getattr(value, "func", None)
    if isinstance(value, _GENERATED) and isinstance(made, types.FunctionType):
        return _as_given(_generator_stops(made.__code__, made.__globals__, error), getattr(value, "args", ()), error)
    entered = getattr(getattr(value, "gen", None), "gi_frame", None) if isinstance(value, _GENERATED) else None
    if entered is not None:  # what made it is forgotten
        if _is_of_torch(entered.f_globals.get("__name__")):
            return False, ""
        return _as_given(_generator_stops(entered.f_code, entered.f_globals, error), entered.f_locals.values(), error)
    if isinstance(value, _STACKS):
        callbacks = [entry[1] for entry in list(getattr(value, "_exit_callbacks", ()))]
        for callback in callbacks:
            subject = getattr(callback, "__self__", None)
            if _is_of_torch(type(subject).__module__):
                continue
            if subject is not None:
                stops, how = _object_stops(subject, error)
            else:
                is_named = isinstance(callback, types.FunctionType) and _speaks_of(callback, error)
                stops, how = None, "named" if is_named else ""
            if stops is not False and how in _HANDLERS:
                return None, how
    return _as_given(_class_stops(type(value), error), list(_own(value).values()), error)


def _is_of_torch(module: Any) -> bool:
    """Whether a context manager is one of torch, for modes and tracing: these hand errors on."""
    return str(module).partition(".")[0] == "torch"


def _made_stops(value: Any, error: Error) -> tuple[Optional[bool], str]:
    """Whether the context managers that a class or a function makes stop errors (None if unknown), and how."""
    if isinstance(value, type):
        return _class_stops(value, error)
    if isinstance(value, types.BuiltinFunctionType):  # open
        return False, ""
    made = getattr(value, "__wrapped__", None) if isinstance(value, types.FunctionType) else None
    if getattr(value, "__module__", "") in _OF_FILES:
        return False, ""
    if isinstance(made, types.FunctionType) and _is_of_torch(made.__module__):
        return False, ""
    if isinstance(made, types.FunctionType):  # contextlib.contextmanager
        return _generator_stops(made.__code__, made.__globals__, error)
    if isinstance(value, types.FunctionType):
        if str(value.__module__).partition(".")[0] in ("transformers", "accelerate"):
            return None, "manager"  # of a step of the library's Trainer: autocast, and other things of torch
        if value.__name__ in _OF_STEPS or _speaks_of(value, error):
            return None, "named"
    return None, "manager"


def _generator_stops(code: types.CodeType, names: dict[str, Any], error: Error) -> tuple[Optional[bool], str]:
    """Whether a function under `contextlib.contextmanager` stops an error that its ``yield`` raises."""
    inner = Code(code)
    walk = Walk(inner, looking_up(names))
    for at in range(0, len(inner.raw), 2):
        if inner.name(at) == "YIELD_VALUE":
            fate = walk.fate(at, error)
            if any(other is not error for other in fate.escapes):
                return None, "named"  # it converts the error, for a handler that waits for another one
            if fate.caught:
                kinds = {how for how, _ in fate.caught}
                return None, next(how for how in (*_HANDLERS, "manager") if how in kinds)
    return False, ""


def _as_given(stops: tuple[Optional[bool], str], given: Iterable[Any], error: Error) -> tuple[Optional[bool], str]:
    """How an error ends, if a context manager that may stop it was given its class."""
    classes = _classes(tuple(given)) if stops[0] is None else []
    is_named = _names_class(classes, error)
    if stops[1] == "unknown":  # it takes its classes from what it was given, or from elsewhere
        return None, "broad" if is_named is False and None not in classes else "named"
    return (None, "named") if is_named else stops


def _class_stops(kind: type, error: Error) -> tuple[Optional[bool], str]:
    """Whether the context managers of a class stop errors: not if `__exit__` returns nothing, or is written in C."""
    if kind.__module__ in _OF_TESTS and "Raises" in kind.__name__:
        return None, "named"
    if kind.__module__ == "unittest.mock" and kind.__name__.startswith("_patch"):
        return False, ""
    leave = getattr(kind, "__exit__", None) or getattr(kind, "__aexit__", None)
    if not isinstance(leave, types.FunctionType):
        return (False if leave is not None else None), "manager"
    if kind in _STACKS:
        return None, "manager"
    code = Code(leave.__code__)
    how = ""
    for at in range(0, len(code.raw), 2):
        if code.name(at) in ("RETURN_VALUE", "RETURN_CONST"):
            source = at if code.name(at) == "RETURN_CONST" else code.pushed_by(at)
            if code.name(source) not in ("RETURN_CONST", "LOAD_CONST"):
                how = how or "manager"
            elif code.object.co_consts[code.argument(source)]:
                how = "broad"
    raises = any(code.name(at) == "RAISE_VARARGS" for at in range(0, len(code.raw), 2))
    if not how and not raises:
        return False, ""
    if _speaks_of(leave, error, kind):
        return None, "named"
    return (None, how) if how else (False, "")


def _speaks_of(
    function: types.FunctionType,
    error: Error,
    kind: Optional[type] = None,
    seen: tuple[types.FunctionType, ...] = (),
) -> bool:
    """Whether a function refers to this error: it names a matching class, or compares with what it stores.

    Args:
        function: the function.
        error: the class of the error.
        kind: the class that has the function, and the methods that it may leave the decision to.
        seen: the functions that have left the decision to this one.
    """
    codes = codes_of(function.__code__)
    names, spaces = {name for code in codes for name in code.co_names}, (function.__globals__, vars(builtins))
    values = [space[name] for name in names for space in spaces if name in space]
    is_named = _names_class(values, error)
    if is_named is not None:
        return is_named
    compares = any(NAMES[op] == "CONTAINS_OP" for code in codes for op in code.co_code[::2])
    if compares or not {"isinstance", "issubclass", "suppress"}.isdisjoint(names):
        return True
    if error is not None and any(error.__name__ in code.co_consts for code in codes):
        return True
    methods = [vars(base) for base in getattr(kind, "__mro__", ())]
    others = [*values, *(space[name] for space in methods for name in names if name in space)]
    others = [other for other in others if isinstance(other, types.FunctionType) and other not in (function, *seen)]
    return len(seen) < _MOST_DELEGATES and any(_speaks_of(other, error, kind, (*seen, function)) for other in others)


def _names_class(values: Iterable[Any], error: Error) -> Optional[bool]:
    """Whether a class of errors among these values matches an error; None if none but the broad ones is there."""
    kinds = (kind for kind in values if isinstance(kind, type) and issubclass(kind, BaseException))
    classes: list[Error] = [kind for kind in kinds if kind not in _BROAD]
    return _matches(error, classes) is True if classes else None


def codes_of(code: types.CodeType) -> list[types.CodeType]:
    """A code object and those inside of it."""
    return [code, *(part for inner in code.co_consts if isinstance(inner, types.CodeType) for part in codes_of(inner))]


def _classes(value: Any, depth: int = 0) -> list[Error]:
    """The classes that an except clause names, or that are in a list, a set or a table; None for an unknown one."""
    if type(value) in _COLLECTIONS or isinstance(value, tuple):
        if len(value) > _MOST_CLASSES or depth > _MOST_DELEGATES:
            return [None]
        parts = [*value, *value.values()] if isinstance(value, dict) else list(value)
        return [kind for part in parts for kind in _classes(part, depth + 1)]
    return [value if isinstance(value, type) else None]


def _matches(error: Error, classes: list[Error]) -> Optional[bool]:
    """Whether one of these classes matches an error; None if unknown."""
    error = None if error is _Made else error
    for kind in classes:
        if kind is not None and (issubclass(error, kind) if error else kind in _BROAD):
            return True
    return None if classes and (error is None or None in classes) else False


def _how(error: Error, classes: list[Error]) -> str:
    """Whether an except clause names the error, is broad, or has a class that is not known."""
    for kind in classes:
        # Where the program raises what a function makes, any class of errors may be the one.
        matches = kind and error and (issubclass(kind, Exception) if error is _Made else issubclass(error, kind))
        if kind and (issubclass(kind, _NAMED) or (kind not in _BROAD and matches)):
            return "named"
    return "unknown" if None in classes else "broad"
