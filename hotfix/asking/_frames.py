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
# Functions of the library whose failure programs expect: a broad handler around their call counts.
_LOADING = {"from_pretrained", "save_pretrained"}
_DECORATING = "_wrapper"  # around `from_pretrained`: it restores torch's default dtype
_WRITING = {"format", "join"}  # methods that make a string to execute
_NOT_CALLING = "torch.utils._contextlib"  # it is also around `generate`, which loops of servers call
# Functions that expect an error whose class is not in the code.
_EXPECTING = {
    *(("unittest.case", "handle"), ("_pytest.python_api", "raises"), ("_pytest.raises", "raises")),
    ("doctest", "__run"),
}
# Functions that run a test, which may be marked as one that fails.
_RUNNING = {("unittest.case", "run"), ("_pytest.runner", "pytest_runtest_call")}
# Its core, which is not Python, makes errors of its own of what validators and serializers raise.
_VALIDATING = "pydantic"
_SERIALIZING = {"model_dump", "model_dump_json", "dump_python", "dump_json"}
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
SUPPORTED = sys.version_info < (3, 14)
_MOST = 4096  # cached places

_codes: dict[int, Code] = {}  # by identity: equal code objects may be of different files; the value keeps it alive
_fates: dict[tuple[int, int, Error], Fate] = {}
_askers: dict[tuple[int, int, str], str] = {}
_wrappers: dict[int, types.CodeType] = {}  # those of plugins, too; by identity, since equal code may be of other files
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
    if not SUPPORTED:
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
    further up does not count, unless it is silent, or it is the program's own and supplies a substitute for the import,
    or for what ``from_pretrained`` loads.

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
    if not SUPPORTED:
        return True
    ascent = _Ascent(error, of_module, library)
    while frame is not None:
        if ascent.ends_in(frame):
            return True
        frame = frame.f_back
    return False


class _Ascent:
    """An error on its way from the frame that raises it to the outermost one.

    Args:
        error: as in `is_handled`.
        of_module: as in `is_handled`.
        library: as in `is_handled`.
    """

    def __init__(self, error: type[BaseException], of_module: bool, library: str) -> None:
        self.error = error
        self.errors: set[Error] = {error}  # that may arrive at the current frame: handlers raise others
        self.library = library
        self.is_import = of_module or issubclass(error, ImportError)
        self.is_near = True  # any handler of the current frame counts
        self.is_inside = bool(library)  # the frame below belongs to the library
        self.is_executed = False  # the frame below is a string that the current one executes
        self.is_read = False  # the frame below runs because the current one reads an attribute
        self.is_loading = False  # the frame below is the library's, and loads or saves files for the current one
        self.is_caught = False  # by a handler that does not count
        self.first: Optional[types.FrameType] = None
        self.below: Optional[types.FrameType] = None

    def ends_in(self, frame: types.FrameType) -> bool:
        """Whether the program is prepared for the error in a frame; otherwise the error goes to the frame above."""
        module, function = _module(frame), frame.f_code.co_name
        if (self.library or self.is_near) and (_is_of_repairs(module) or is_wrapper(frame)):
            return False
        if self.library:
            was_inside, self.is_inside = self.is_inside, module.partition(".")[0] in (self.library, "torch")
            self.is_near = self.is_near or (was_inside and not self.is_inside)
        if module.partition(".")[0] == _VALIDATING:
            self.errors = _errors_of_pydantic(self.errors, function)
        place = (id(frame.f_code), frame.f_lasti, self.is_near, *self.errors)
        if place in _passed and not self.is_read:
            self._leave(frame)
            return False
        if self._is_expected_by(frame, module, function):
            return True
        if module in _MACHINERY or (module, "") in _TRANSPARENT or (module, function) in _TRANSPARENT:
            if function == "_handle_fromlist":
                self.errors = {_imported(kind) for kind in self.errors}
            self.is_near, self.is_read = module in _MACHINERY, False
            return False
        self.first = self.first or frame
        how = self._asked_by(frame)
        if self._is_probe(how, module):
            return True
        if how == "import":
            self.errors = {_imported(kind) for kind in self.errors}
        is_test = (module, function) in _RUNNING
        if is_test and _is_failure_expected(frame):
            return True
        remaining, is_free = self._beyond_handlers(frame, module)
        if remaining is None or any(kind and kind.__name__ in _SKIPPING for kind in remaining):
            return True
        # A property, and the function of a repair above it: C code may have called it, to see whether it has a value.
        self.is_read = _is_reader(frame) or (self.is_read and _is_of_repairs(module))
        if is_free and not is_test and not self.is_read and how != "plain" and remaining == set(place[3:]):
            _passed.add(place)
        self.errors = remaining
        self._leave(frame)
        return False

    def _leave(self, frame: types.FrameType) -> None:
        self.is_near = _imports(frame) or (self.is_near and _is_calling(frame))
        self.is_executed, self.is_loading = _is_executed(frame), _is_loading(frame, self.is_loading)
        self.first, self.below = self.first or frame, frame

    def _is_expected_by(self, frame: types.FrameType, module: str, function: str) -> bool:
        """Whether a frame is of a function that is called to see whether there is an error."""
        if (module, function) in _EXPECTING or (module, function) == ("importlib.util", "find_spec"):
            return True
        return module == "click.core" and any(kind is not None and has_a_manager(frame, kind) for kind in self.errors)

    def _asked_by(self, frame: types.FrameType) -> str:
        """How a frame asks for an attribute, see `asker`; empty if it is not asked here."""
        if self.is_near or not any(kind and issubclass(kind, AttributeError) for kind in self.errors):
            return ""
        return asker(frame)

    def _is_probe(self, how: str, module: str) -> bool:
        """Whether a frame that asks in this way goes on without the attribute."""
        if how == "unknown":
            return self.is_read and not _is_of_repairs(module)
        return how == "probe" or (how == "plain" and self.below is not None and _falls_back(self.below))

    def _beyond_handlers(self, frame: types.FrameType, module: str) -> tuple[Optional[set[Error]], bool]:
        """The errors that leave a frame, and whether it has no handler for them; None if a handler counts."""
        remaining: set[Error] = set()
        is_free = True
        for kind in self.errors:
            fate = _fate(frame, kind)
            if any(self._counts(how, does, fate, frame, module) for how, does in fate.caught):
                return None, False
            remaining |= {*fate.escapes, kind} if fate.caught else fate.escapes
            is_free = is_free and not fate.caught and not fate.is_of_now
            self.is_caught = self.is_caught or not (fate.escapes or ("manager", "reports") in fate.caught)
        return remaining, is_free

    def _counts(self, how: str, does: str, fate: Fate, frame: types.FrameType, module: str) -> bool:
        """Whether a handler shows that the program is prepared."""
        if how == "manager":
            return self.is_near and issubclass(self.error, ImportError)
        if self.is_near or (self.is_executed and (_writes_the_string(frame) or fate.answers or does == "instead")):
            return True
        if self.is_loading and does in ("instead", "nothing") and module.partition(".")[0] not in _LIBRARIES:
            return True
        # The library has handlers whose classes depend on what is installed; they are for other errors.
        if how == "named" or (how == "unknown" and module.partition(".")[0] not in _LIBRARIES):
            return True
        if self.is_caught:
            return False
        if does == "nothing" or not frame.f_code.co_flags & _OPTIMIZED:
            return True
        return does == "instead" and self.is_import and _is_of_the_program(frame, self.first or frame)


def register(wrapper: types.FunctionType) -> None:
    """Note that a function is a wrapper of a repair, whatever its globals: its frame is not one of the program."""
    _wrappers[id(wrapper.__code__)] = wrapper.__code__


def is_wrapper(frame: types.FrameType) -> bool:
    """Whether a frame runs a registered wrapper."""
    return id(frame.f_code) in _wrappers


def handles(error: type[BaseException], frame: types.FrameType) -> bool:
    """Whether a frame has a handler of its own for an error at its current place."""
    return SUPPORTED and bool(_fate(frame, error).caught)


def _is_of_repairs(module: str) -> bool:
    """Whether a module belongs to hotfix; its proofs are programs."""
    return f"{module}.".startswith("hotfix.") and not module.startswith("hotfix.proofs.")


def _is_calling(frame: types.FrameType) -> bool:
    """Whether a frame calls a module, or its ``forward``, for the frame above it."""
    module = _module(frame)
    is_torch = module.partition(".")[0] == "torch" and module != _NOT_CALLING
    return is_torch or (module, frame.f_code.co_name) in _CALLING


def _is_loading(frame: types.FrameType, is_below: bool) -> bool:
    """Whether a frame loads or saves files for the one above it, also if a repair is between them."""
    module = _module(frame)
    if module.partition(".")[0] == "transformers":
        return frame.f_code.co_name in _LOADING or (is_below and frame.f_code.co_name == _DECORATING)
    return is_below and _is_of_repairs(module)


def _imports(frame: types.FrameType) -> bool:
    """Whether a frame runs the program's own function for import statements: the statement is in the next frame."""
    return frame.f_code is getattr(builtins.__import__, "__code__", None)


def _is_executed(frame: types.FrameType) -> bool:
    """Whether the code of a frame was given to ``exec`` or ``eval`` as a string, by a frame of the program."""
    code, caller = frame.f_code, frame.f_back
    is_string = code.co_filename == "<string>" and code.co_name == "<module>"
    return is_string and caller is not None and _is_of_the_program(caller, frame)


def _writes_the_string(frame: types.FrameType) -> bool:
    """Whether a frame executes a string that it has written in the same statement: to see whether that runs.

    A string in a variable, or from another function, may be a whole program, and the handler that of its runner.
    """
    code = _code(frame)
    at = code.place(frame.f_lasti)
    if code.name(at) not in CALLS:
        return False
    _, arguments = code.call(at)
    if not arguments or arguments[0] < 0:
        return False
    made = code.name(arguments[0])
    if made in CALLS:
        return code.named(code.call(arguments[0])[0]) in _WRITING
    return made == "LOAD_CONST" or not made.startswith("LOAD_")


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


def _errors_of_pydantic(errors: set[Error], function: str) -> set[Error]:
    """The errors that may leave pydantic when a function of the program that it calls raises one of these.

    A validator's ValueError or AssertionError becomes a ValidationError. Each error of a serializer becomes another one
    too, but that of a computed field does not.
    """
    core = sys.modules.get("pydantic_core")
    if function in _SERIALIZING:
        made = getattr(core, "PydanticSerializationError", None)
        return {*errors, made} if isinstance(made, type) else errors
    made = getattr(core, "ValidationError", None)
    if not isinstance(made, type):
        return errors
    return {made if kind and issubclass(kind, (ValueError, AssertionError)) else kind for kind in errors}


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
