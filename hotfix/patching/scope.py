"""Run-time checks of repaired functions: may the repaired code run in this call, or does the release's own code run?

Conditional edits (`hotfix.fix.Condition`) call the functions of this module. They run inside the program's own calls,
so they are cheap, change nothing, and never raise an error of their own. If a check is impossible, the release's own
code runs, and the report says so.
"""

from __future__ import annotations

import re
import sys
import types
import weakref
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Callable, Optional

from .. import asking
from . import compiling, live, traced

settled = compiling.settled
_is_compiling = compiling.is_compiling

# Wrappers of these packages only pass calls through; the wrapped object decides.
_PASS_THROUGH = frozenset({"torch", "accelerate", "peft", "deepspeed", "functools", "contextlib", "hotfix"})

_PROGRAM = {"__main__", "transformers_modules"}  # the script, and remote code
_ANY = "Exception: …"  # the error of a constructor of the program's is what the fix expects
_OF_A_CALL = re.compile(r"\(\) (got (an unexpected|multiple values|some)|takes |missing \d)")

_OURS = str(Path(__file__).parents[1])  # a repaired function may have our code


_left_alone: dict[str, str] = {}
_of_classes: dict[tuple[int, str, str], tuple[Any, Any, str]] = {}  # with weak references: a program's class is freed
_written_there: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
_places: dict[str, tuple[Any, str, Any, Any, Any]] = {}


def left_alone() -> dict[str, str]:
    """Why a repair left calls to the release's own code, by id of the fix: the first reason for each."""
    return dict(_left_alone)


@settled
def leave_alone(fix: str, reason: str) -> bool:
    """Record that a repair leaves a call alone.

    Args:
        fix: id of the fix.
        reason: which code is the user's own, such as ``MyTrainer.compute_loss is your own``.

    Returns:
        False, so that a condition can end with this call.
    """
    if fix not in _left_alone:
        _left_alone[fix] = reason
    return False


def undecided(fix: str, error: Exception) -> bool:
    """Record that the condition of a repair cannot be evaluated. Returns False."""
    if _is_compiling():  # torch.compile cannot trace the text of an error
        return leave_alone(fix, "its condition cannot be checked while it is compiled")
    return leave_alone(fix, f"its condition cannot be checked here ({type(error).__name__}: {error})")


# ---------------------------------------------------------------------------------------------------------------------
# Below: whose code takes part in a call.


def is_own(fix: str, owner: Any, name: str = "", library: str = "transformers") -> bool:
    """Whether a participant of a call is the library's own code.

    Args:
        fix: id of the fix; the report names the first participant that is not the library's own.
        owner: an object; None counts as the library's own.
        name: the attribute of `owner` that holds a function or method; one set on the instance takes precedence.
            Without a name, `owner` itself is the participant: a function, or an object whose class is checked.
        library: name of the package whose code counts as own.

    Returns:
        True for functions and classes defined in the library, also below wrappers of torch, accelerate, peft and
        deepspeed, and for absent participants. False for subclasses that override `name`, for functions that were set
        on the class or the instance, and for copies of the library's source that were executed elsewhere.
    """
    if owner is None:
        return True
    if name and name not in getattr(owner, "__dict__", ()):
        return _is_own_class(fix, type(owner), name, library)
    reason = _reason(owner, name, library)
    return not reason or leave_alone(fix, reason)


@settled
def _is_own_class(fix: str, kind: type, name: str, library: str) -> bool:
    """Whether a class attribute is the library's own."""
    key = id(kind), name, library
    known, value = _of_classes.get(key), getattr(kind, name, None)
    if known is None or known[0]() is not kind or known[1]() is not value:
        of_kind = weakref.ref(kind, lambda _: _of_classes.pop(key, None))
        known = _of_classes[key] = of_kind, _held(value), _foreign(value, library)
    return not known[2] or leave_alone(fix, known[2])


def _held(value: Any) -> Callable[[], Any]:
    """A reference to an attribute of a class, which may refer to the class; weak where that is possible."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _reason(owner: Any, name: str, library: str) -> str:
    """Why a participant is not the library's own; empty if it is."""
    if not name:
        return _foreign(owner if callable(owner) and not isinstance(owner, type) else type(owner), library)
    namespace: Any = getattr(owner, "__dict__", {})
    return _foreign(namespace[name] if name in namespace else getattr(type(owner), name, None), library)


def is_class_of(fix: str, thing: Any, library: str = "transformers") -> bool:
    """Whether the library defines the class of an object: false for a user's subclass. None counts as own."""
    if thing is None or _is_written_there(type(thing), library):
        return True
    return leave_alone(fix, f"{type(thing).__qualname__} is your own class")


def was_written_in(package: str, thing: Any) -> bool:
    """Whether a function, method or class was written in a package.

    ``functools.wraps`` copies ``__module__``: a function of the program's that replaces one of the library may have its
    name and its module. So its code has to be of the package as well.
    """
    return _root(getattr(thing, "__module__", "")) == package and not _foreign(thing, package)


@settled
def _is_written_there(kind: type, library: str) -> bool:
    """Whether a class was written in a library; ``functools.update_wrapper`` copies ``__module__``, as programs do.

    Its module has it under its name, or all its functions are the library's. The module has none of the classes that a
    program has replaced, nor of those that a function of the library makes; nor one whose statement still runs.
    """
    if _root(kind.__module__) != library:
        return False
    known = _written_there.get(kind)
    if known is None:
        is_at_its_place = _stands_at(kind) is kind
        if not is_at_its_place and _is_being_run(sys.modules.get(kind.__module__)):
            return True
        known = _written_there[kind] = is_at_its_place or _has_functions_of(kind, library)
    return known


def _is_being_run(module: Any) -> bool:
    """Whether the statements of a module run at this moment, as it is imported or reloaded."""
    names = getattr(module, "__dict__", None)
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None and not (frame.f_globals is names and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    return frame is not None


def _stands_at(kind: type) -> Any:
    place: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        place = _namespace(place).get(part)
    return place


def _has_functions_of(kind: type, library: str) -> bool:
    inner = (_inner(value) or value for value in list(vars(kind).values()))
    functions = [function for function in inner if isinstance(function, types.FunctionType)]
    are_defined_in_it = any(
        function.__qualname__ == f"{kind.__qualname__}.{function.__name__}" for function in functions
    )
    return are_defined_in_it and all(_is_from(function, {library, *_PASS_THROUGH}) for function in functions)


def _foreign(thing: Any, library: str) -> str:
    """Why a function, method or class is not the library's own; empty if it is."""
    if thing is None:
        return ""
    for _ in range(20):
        if isinstance(thing, type):
            break
        function = _function_of(thing)
        inner = (
            getattr(function, "__wrapped__", None) if function is not thing else _namespace(thing).get("__wrapped__")
        )
        if inner is None:
            inner = _inner(thing)
        if inner is None or inner is thing:
            break
        if isinstance(function, types.FunctionType) and not _is_from(function, {library, *_PASS_THROUGH}):
            return _your_own(function)
        thing = inner
    if isinstance(thing, type):
        return "" if _is_written_there(thing, library) else f"{thing.__qualname__} is your own class"
    function = _function_of(thing)
    if isinstance(function, types.FunctionType):
        return "" if _is_from(function, {library, *_PASS_THROUGH}) else _your_own(function)
    if isinstance(function, types.BuiltinFunctionType):
        return ""
    return "" if _root(type(thing).__module__) in {library, *_PASS_THROUGH} else f"{type(thing).__qualname__} is yours"


def _namespace(thing: Any) -> Any:
    """The ``__dict__`` of an object, empty if it has none: builtins, ``__slots__``, and while torch.compile traces."""
    try:
        return thing.__dict__
    except AttributeError:
        return {}


def _inner(thing: Any) -> Any:
    """The function inside a partial object, a bound method or a descriptor."""
    if isinstance(thing, (staticmethod, classmethod, types.MethodType)):
        return thing.__func__
    if isinstance(thing, property):
        return thing.fget
    return getattr(thing, "func", None) if type(thing).__module__ == "functools" else None


def _function_of(thing: Any) -> Any:
    return thing.__func__ if isinstance(thing, (staticmethod, classmethod, types.MethodType)) else thing


def _is_from(function: types.FunctionType, packages: Any) -> bool:
    """Whether a function was defined by a module of these packages, in that module's file or by a repair of hotfix."""
    try:
        namespace = function.__globals__
    except AttributeError:  # torch.compile gives none for a function in a wrapper such as functools.cache
        return False
    if _root(str(namespace.get("__name__"))) not in packages:
        return False
    file = function.__code__.co_filename  # a copy executed elsewhere has another file
    return file == namespace.get("__file__") or file.startswith(_OURS)


def _your_own(function: types.FunctionType) -> str:
    # While torch.compile traces, `__qualname__` is a descriptor.
    return f"{function.__name__ if _is_compiling() else function.__qualname__} is your own"


def _root(module: Any) -> str:
    return str(module).partition(".")[0]


# ---------------------------------------------------------------------------------------------------------------------
# Below: repairs in several places.


def put(place: str, owner: Any, name: str, raw: Any, function: Any) -> None:
    """Record where a function was repaired: ``module:qualname``, its owner, and the installed object."""
    _places[place] = owner, name, raw, function, getattr(function, "__code__", None)


def take_out(place: str) -> None:
    """Forget a place whose repair was removed."""
    _places.pop(place, None)


def references_to(raw: Any) -> int:
    """How often these records refer to an object."""
    return sum((place[2] is raw) + (place[3] is raw) for place in _places.values())


@settled
def is_in_place(fix: str, place: str) -> bool:
    """Whether the repair in another place is still active.

    Args:
        fix: id of the fix.
        place: ``module:qualname``.
    """
    known = _places.get(place)
    if known is not None:
        owner, name, raw, function, code = known
        here = owner.__dict__.get(name)
        if getattr(function, "__code__", None) is code and (here is raw or _is_below(function, here)):
            return True
    return leave_alone(fix, f"{place} is not repaired here, and the two belong together")


def _is_below(function: Any, here: Any) -> bool:
    return here is not None and live.is_below(function, here)


# ---------------------------------------------------------------------------------------------------------------------
# Below: errors.


def is_declared(
    error: BaseException, fix: str, patterns: tuple[str, ...], *modules: Any, of_program: bool = False
) -> bool:
    """Whether the release's own code has raised the error that a fix repairs, and the program does not handle it.

    The program's own code may raise an error of the same text within the call. To call the release's function once more
    would then run that code a second time, for an error that no repair removes.

    Args:
        error: the raised error.
        fix: id of the fix.
        patterns: ``TypeName: message``; ``…`` matches any text.
        modules: names of modules whose packages count as the library's own; the caller's does in any case.
        of_program: whether it is code of the program's that raises this error, such as the constructor of a model.
    """
    if _is_compiling():  # torch.compile cannot trace the text: only the class of the error is checked
        return not _is_handled_in_trace(fix, type(error), "")
    matching = [pattern for pattern in patterns if _matches(error, pattern)]
    if not matching:
        return False
    caller = sys._getframe(1)
    libraries = {"hotfix", "transformers", *map(_root, [*modules, caller.f_globals.get("__name__")])}
    if not (of_program or _ANY in matching) and (code := _your_code_that_raised(error, libraries)):
        return leave_alone(fix, f"{code} is your own, and raises the {type(error).__name__} itself")
    return not is_handled(fix, type(error), caller.f_back)


def is_handled(fix: str, error: type[BaseException], frame: Any, library: str = "") -> bool:
    """Whether the program handles an error of the release's own code, and so gets it instead of the repair.

    Args:
        fix: id of the fix.
        error: the class of the error.
        frame: the frame that raises it, or calls the code that does.
        library: the package that raises it or was asked for something by its name; any handler of its callers counts.
    """
    if sys.version_info >= (3, 14) or not asking.is_handled(error, frame, library=library):
        return False
    return not leave_alone(fix, f"the program handles the {error.__name__} itself")


def is_handled_around(fix: str, error: type[BaseException], library: str = "transformers") -> bool:
    """Whether the program handles an error of a library, around its call or within it.

    A method of the program may run within the library, as a hook or an override, and have a handler of its own.

    Args:
        fix: id of the fix.
        error: the class of the error.
        library: name of the package.
    """
    if compiling.is_compiling():
        return _is_handled_in_trace(fix, error, library)
    return is_handled(fix, error, sys._getframe(1), library)


@settled
def _is_handled_in_trace(fix: str, error: type[BaseException], library: str) -> bool:
    """The same for code that `torch.compile` traces; true if its frames are not known."""
    frame = traced.asking(__name__)
    return frame is None or is_handled(fix, error, frame, library)


def _your_code_that_raised(error: BaseException, libraries: Collection[str]) -> str:
    """The name of the program's function that raised an error, itself or in a module of torch; empty if a library did.

    A call with wrong arguments fails in the code that calls: that must be one of the libraries around a model. A module
    that is not found fails in the code that imports it, but Python raises that error, and gives it the name.
    """
    if isinstance(error, ModuleNotFoundError) and error.name:
        return ""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        root = _root(frame.f_globals.get("__name__"))
        if root in libraries or not (root in _PASS_THROUGH or _is_refused_above(error, frame)):
            break
    else:
        return ""
    if root in libraries:
        return ""
    is_of_a_call = isinstance(error, TypeError) and _OF_A_CALL.search(str(error)) is not None
    return frame.f_code.co_name if is_of_a_call or root in _PROGRAM else ""  # else it may be a kernel, or json


def _is_refused_above(error: BaseException, frame: types.FrameType) -> bool:
    """Whether a method passed its call on by ``super()``, and the one above refused it."""
    kind, _, name = str(error).partition("()")[0].rpartition(".")
    first = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
    return name == frame.f_code.co_name and kind in [base.__qualname__ for base in type(first).__mro__]


def _matches(error: BaseException, pattern: str) -> bool:
    name, message = _compiled(pattern)
    names = ((kind.__name__, f"{kind.__module__}.{kind.__qualname__}") for kind in type(error).__mro__)
    return any(name in both for both in names) and message.fullmatch(str(error)) is not None


@cache
def _compiled(pattern: str) -> tuple[str, re.Pattern[str]]:
    name, _, message = pattern.partition(":")
    return name.strip(), re.compile(".*".join(map(re.escape, message.strip().split("…"))), re.DOTALL)
