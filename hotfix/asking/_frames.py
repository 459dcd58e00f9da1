"""Judges frames, from the one that uses a name upwards, and caches the results."""

from __future__ import annotations

import builtins
import os
import sys
import types
from functools import lru_cache
from typing import Any, Optional, Union

from ._bytecode import CALLS, Code
from ._handlers import Error, Fate, Walk, has_a_manager, looking_up

_MACHINERY = {
    *("importlib", "importlib._bootstrap", "importlib._bootstrap_external", "importlib.metadata", "importlib.util"),
    "zipimport",
}
# Functions with handlers that do not count: their caller decides.
_TRANSPARENT = {
    *(("runpy", ""), ("unittest.loader", ""), ("transformers.dynamic_module_utils", "check_imports")),
    # They run a command. Their handlers end the program.
    *(("click.core", "main"), ("typer.core", "_main")),
}
# Functions that call `forward` for a frame that calls the module.
_CALLING = {("accelerate.hooks", "new_forward"), ("transformers.modeling_layers", "__call__")}
_NOT_CALLING = "torch.utils._contextlib"  # it is also around `generate`, which loops of servers call
# Functions that expect an error whose class is not in the code.
_EXPECTING = {
    *(("unittest.case", "handle"), ("_pytest.python_api", "raises"), ("_pytest.raises", "raises")),
    ("doctest", "__run"),
}
# Functions that run a test, which may be marked as one that fails.
_RUNNING = {("unittest.case", "run"), ("_pytest.runner", "pytest_runtest_call")}
_SKIPPING = {"SkipTest", "Skipped"}  # errors that a test runner expects
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"}
_SUBSCRIPTS = {"BINARY_SUBSCR", "BINARY_SLICE"}
# Packages that are not the program's, and whose `__getattr__` cannot supply what a user's property lacks.
_LIBRARIES = {"torch", "transformers", "hotfix"}
_INSTALLED = ("<frozen", os.path.dirname(os.__file__))
_READERS = {"__getattr__", "__getattribute__", "__get__"}
_CALLED = {*_READERS, "fget"}  # of these, a program may call one itself
_PICKLING = {"load", "loads", "find_class"}
SUBSCRIPT = "[]"
"""The name that represents access by index or key."""
_OPTIMIZED = 1  # the flag of a function's code
_SUPPORTED = sys.version_info < (3, 14)
_MOST = 4096  # cached places

_codes: dict[int, Code] = {}  # by identity: equal code objects may be of different files; the value keeps it alive
_fates: dict[tuple[int, int, Error], Fate] = {}
_askers: dict[tuple[int, int, str], str] = {}
_passed: set[tuple[Any, ...]] = set()  # places that these errors leave unchanged
_errors: dict[tuple[Any, ...], type[BaseException]] = {}  # the error that leaves a place where a name was restored


def would_end(
    error: type[BaseException],
    asking: Union[int, types.FrameType] = 1,
    name: str = "",
    of_module: bool = False,
) -> bool:
    """Whether the program would crash if a frame got this error for a name that it uses.

    Args:
        error: AttributeError for a name of a module or a class, ModuleNotFoundError for a module.
        asking: the frame that uses the name, or how many frames up it is; 1 is the caller.
        name: the attribute, or ``[]`` for access by index or key. If the bytecode at this place uses another name, C
            code uses this one.
        of_module: whether the name belongs to a module.

    Returns:
        False also if nothing can be determined.
    """
    frame = sys._getframe(asking) if isinstance(asking, int) else asking
    key = (id(frame.f_code), frame.f_lasti, error, name, of_module)
    leaving = _errors.get(key)
    if leaving is not None and is_passed_on(leaving, frame.f_back):
        return True
    if not _SUPPORTED:
        return False
    if _module(frame) not in _MACHINERY:
        how = asker(frame, name)
        if how == "pickler":
            return True  # code that pickles an object of a restored class has received the name before
        if how not in ("plain", "import"):
            return False
        error = (_imported(error) or error) if how == "import" else error
    elif issubclass(error, AttributeError):  # importlib checks whether a package has the name; Python reads it again
        return False
    if is_handled(error, frame, of_module):
        return False
    if (*key[:2], True, error) in _passed:
        _errors[key] = error
    return True


def leaving(
    error: type[BaseException], frame: types.FrameType, name: str = "", of_module: bool = False
) -> Optional[type[BaseException]]:
    """The error with which the program would leave a place, if `would_end` was true there.

    Args:
        error: as in `would_end`, and so on.
        frame: as in `would_end`.
        name: as in `would_end`.
        of_module: as in `would_end`.

    Returns:
        None if it is not known. The place itself need not be judged again; the frames above it may have changed, see
        `is_passed_on`.
    """
    return _errors.get((id(frame.f_code), frame.f_lasti, error, name, of_module))


def is_passed_on(error: type[BaseException], frame: Optional[types.FrameType]) -> bool:
    """Whether all frames from this one upwards are known to leave an error unchanged. This costs little per frame."""
    while frame is not None:
        if (id(frame.f_code), frame.f_lasti, False, error) not in _passed:
            return False
        frame = frame.f_back
    return True


def is_handled(
    error: type[BaseException], frame: Optional[types.FrameType], of_module: bool = False, library: str = ""
) -> bool:
    """Whether the program is prepared for an error raised in a frame, or in a call that this frame makes.

    In this frame any handler counts; if torch calls it as the ``forward`` of a module, in the frame that calls the
    module. Further up, a handler counts if it names the error or is in module-level code. A broad handler in a function
    further up does not count, unless it is silent, or it is the program's own and supplies a substitute for the import.

    Args:
        error: the class of the error.
        frame: the frame that raises the error, or calls the code that does.
        of_module: whether the error is about a name of a module.
        library: the package that raises the error or was asked for the name. Each frame of the program that calls it,
            directly or through torch, counts like the one that asks: a method of the program may run within the
            library. Frames of repairs do not count.

    Returns:
        True also if it cannot be determined.
    """
    if not _SUPPORTED:
        return True
    is_inside = bool(library)
    errors: set[Error] = {error}
    is_near, is_executed, is_caught, is_read = True, False, False, False
    is_import = of_module or issubclass(error, ImportError)
    below: Optional[types.FrameType] = None
    first: Optional[types.FrameType] = None
    while frame is not None:
        if (library or is_near) and _is_of_repairs(_module(frame)):
            frame = frame.f_back
            continue
        if library:
            was_inside, is_inside = is_inside, _module(frame).partition(".")[0] in (library, "torch")
            is_near = is_near or (was_inside and not is_inside)
        place = (id(frame.f_code), frame.f_lasti, is_near, *errors)
        if place in _passed and not is_read:
            is_near, is_executed = _imports(frame) or (is_near and _is_calling(frame)), _is_executed(frame)
            first, below, frame = first or frame, frame, frame.f_back
            continue
        module, function = _module(frame), frame.f_code.co_name
        if (module, function) in _EXPECTING or (module == "importlib.util" and function == "find_spec"):
            return True
        if module == "click.core" and any(kind is not None and has_a_manager(frame, kind) for kind in errors):
            return True
        if module in _MACHINERY or (module, "") in _TRANSPARENT or (module, function) in _TRANSPARENT:
            if function == "_handle_fromlist":
                errors = {_imported(kind) for kind in errors}
            is_near, is_read, frame = module in _MACHINERY, False, frame.f_back
            continue
        how, first = "", first or frame
        if not is_near and any(kind and issubclass(kind, AttributeError) for kind in errors):
            how = asker(frame)
            if how == "probe" or (how == "unknown" and is_read and not _is_of_repairs(module)):
                return True
            if how == "plain" and below is not None and _falls_back(below):
                return True
            if how == "import":
                errors = {_imported(kind) for kind in errors}
        if (module, function) in _RUNNING and _is_failure_expected(frame):
            return True
        remaining: set[Error] = set()
        may_stop = (module, function) in _RUNNING
        is_function = frame.f_code.co_flags & _OPTIMIZED
        # The library has handlers whose classes depend on what is installed; they are for other errors.
        names_it = ("named",) if module.partition(".")[0] in _LIBRARIES else ("named", "unknown")
        for kind in errors:
            fate = _fate(frame, kind)
            remaining |= fate.escapes
            may_stop = may_stop or bool(fate.caught) or fate.is_of_now
            for how, does in fate.caught:
                if how == "manager":
                    counts = is_near and issubclass(error, ImportError)
                elif is_near or how in names_it or (is_executed and (fate.answers or does == "instead")):
                    counts = True
                else:
                    has_else = does == "instead" and is_import and _is_of_the_program(frame, first)
                    counts = not is_caught and (not is_function or does == "nothing" or has_else)
                if counts:
                    return True
                remaining.add(kind)
            is_caught = is_caught or not (fate.escapes or ("manager", "reports") in fate.caught)
        if any(kind and kind.__name__ in _SKIPPING for kind in remaining):
            return True
        # A property, and the function of a repair above it: C code may have called it, to see whether it has a value.
        is_read = _is_reader(frame) or (is_read and _is_of_repairs(module))
        if not may_stop and not is_read and how != "plain" and remaining == set(place[3:]):
            _passed.add(place)
        is_near, is_executed = _imports(frame) or (is_near and _is_calling(frame)), _is_executed(frame)
        errors, below, frame = remaining, frame, frame.f_back
    return False


def handles(error: type[BaseException], frame: types.FrameType) -> bool:
    """Whether a frame has a handler of its own for an error at its current place."""
    return _SUPPORTED and bool(_fate(frame, error).caught)


def _is_of_repairs(module: str) -> bool:
    """Whether a module belongs to hotfix; its proofs are programs."""
    return f"{module}.".startswith("hotfix.") and not module.startswith("hotfix.proofs.")


def _is_calling(frame: types.FrameType) -> bool:
    """Whether a frame calls a module, or its ``forward``, for the frame above it."""
    module = _module(frame)
    is_torch = module.partition(".")[0] == "torch" and module != _NOT_CALLING
    return is_torch or (module, frame.f_code.co_name) in _CALLING


def _imports(frame: types.FrameType) -> bool:
    """Whether a frame runs the program's own function for import statements: the statement is in the next frame."""
    return frame.f_code is getattr(builtins.__import__, "__code__", None)


def _is_executed(frame: types.FrameType) -> bool:
    """Whether the code of a frame was given to ``exec`` or ``eval`` as a string, by a frame of the program."""
    code, caller = frame.f_code, frame.f_back
    is_string = code.co_filename == "<string>" and code.co_name == "<module>"
    return is_string and caller is not None and _is_of_the_program(caller, frame)


def _is_failure_expected(frame: types.FrameType) -> bool:
    """Whether a test that a frame runs is marked as one that fails."""
    local = frame.f_locals
    marks = getattr(local.get("item"), "iter_markers", None)
    return bool(local.get("expecting_failure")) or (marks is not None and any(marks(name="xfail")))


def _falls_back(frame: types.FrameType) -> bool:
    """Whether a frame is a property of an object whose class has a ``__getattr__``: Python calls it after an error."""
    code = frame.f_code
    at = 1 if code.co_name == "__get__" else 0  # `functools.cached_property`, and other descriptors
    if code.co_argcount <= at or code.co_name == "__getattr__":
        return False
    subject = frame.f_locals.get(code.co_varnames[at])
    hooks = (vars(kind)["__getattr__"] for kind in type(subject).__mro__ if "__getattr__" in vars(kind))
    hook = next((hook for hook in hooks if not _is_added(hook)), None)
    return hook is not None and str(getattr(hook, "__module__", "")).partition(".")[0] not in _LIBRARIES


def _is_added(hook: Any) -> bool:
    """Whether a ``__getattr__`` was put into a class by a repair: it asks the next one, as Python would without it."""
    return _is_of_repairs(str(getattr(hook, "__globals__", {}).get("__name__")))


def _is_reader(frame: types.FrameType) -> bool:
    """Whether a frame runs because an attribute is read: it is a property, or a ``__getattr__``."""
    code = frame.f_code
    if code.co_name in _READERS:
        return True
    if code.co_argcount != 1:
        return False
    members = (vars(kind).get(code.co_name) for kind in type(frame.f_locals.get(code.co_varnames[0])).__mro__)
    return any(isinstance(member, property) for member in members)


def _is_of_the_program(frame: types.FrameType, asking: types.FrameType) -> bool:
    """Whether a frame belongs to the program, or to the same package as the frame that uses the name."""
    return _is_own(_module(frame), _module(asking), frame.f_code.co_filename)


@lru_cache(maxsize=1024)
def _is_own(module: str, asking: str, file: str) -> bool:
    package = module.partition(".")[0]
    if package == asking.partition(".")[0]:
        return True
    return not (package in _LIBRARIES or "-packages" in file or file.startswith(_INSTALLED))


def _imported(error: Error) -> Error:
    """The error that an import statement raises when a package raises this one for a name."""
    return ImportError if error and issubclass(error, AttributeError) else error


def _module(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _code(frame: types.FrameType) -> Code:
    code = _codes.get(id(frame.f_code))
    if code is None:
        if len(_codes) > _MOST or len(_fates) > _MOST:
            for kept in (_passed, _errors, _fates, _askers, _codes):
                kept.clear()
        code = _codes[id(frame.f_code)] = Code(frame.f_code)
    return code


def _walk(frame: types.FrameType, code: Code) -> Walk:
    is_function = frame.f_code.co_flags & _OPTIMIZED
    return Walk(code, looking_up(frame.f_globals, None if is_function else frame.f_locals), frame)


def _fate(frame: types.FrameType, error: Error) -> Fate:
    """The fate of an error in a frame, cached by place unless it depends on variables."""
    key = (id(frame.f_code), frame.f_lasti, error)
    fate = _fates.get(key)
    if fate is None:
        code = _code(frame)
        fate = _walk(frame, code).fate(code.place(frame.f_lasti), error)
        if not fate.is_of_now:
            _fates[key] = fate
    return fate


def asker(frame: types.FrameType, name: str = "") -> str:
    """How the current instruction of a frame reads an attribute.

    Returns:
        ``plain``, ``import``, ``probe``, or ``called`` if it calls a ``__getattr__`` or a property itself. Other
        answers are for other code.
    """
    key = (id(frame.f_code), frame.f_lasti, name)
    how = _askers.get(key)
    if how is None:
        code = _code(frame)
        how = _askers[key] = _asks(_walk(frame, code), code, code.place(frame.f_lasti), name)
    return how


def sets(frame: types.FrameType, name: str) -> bool:
    """Whether the code of a frame also sets an attribute of this name, of whatever object."""
    return _code(frame).sets(name)


def _asks(walk: Walk, code: Code, at: int, name: str) -> str:
    op = code.name(at)
    if name == SUBSCRIPT:
        return "plain" if op in _SUBSCRIPTS else "unknown"
    if op in _ATTRIBUTES and name in ("", code.named(at)):
        return "import" if op == "IMPORT_FROM" else "plain"
    if op == "MATCH_CLASS":
        return "probe"
    if op not in (*CALLS, "CALL_FUNCTION_EX"):
        return "unknown"
    callee, arguments = code.call(at)
    last = code.named(callee) if code.name(callee) in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") else ""
    if last in _CALLED:
        return "called"
    if op not in CALLS:
        return "unknown"
    function = walk.value(callee)
    if function is hasattr or (function is getattr and len(arguments) > 2):
        return "probe"
    if last in ("dump", "dumps"):
        return "pickler"
    return "plain" if function is getattr or last in _PICKLING else "unknown"
