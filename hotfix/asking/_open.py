"""The names that the code of a module uses and nothing defines: each of them is a `NameError` to come."""

from __future__ import annotations

import builtins
import types
from collections.abc import Collection

from ._bytecode import Code
from ._frames import SUPPORTED, is_handled
from ._handlers import Walk, codes_of, looking_up

_READS = {"LOAD_NAME", "LOAD_GLOBAL"}
_SETS = {"STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"}
_ASKS_FOR_NAMES = {"globals", "locals", "vars", "dir", "__dict__", "setattr", "exec", "modules", "__builtins__"}
_OPTIMIZED = 1  # the flag of a function's code
_STAR = 2  # the number of this function of the interpreter, from Python 3.12 on


def imports_all(frame: types.FrameType) -> bool:
    """Whether a frame is at a ``from module import *``."""
    if not SUPPORTED:
        return False
    code = Code(frame.f_code)
    at = code.place(frame.f_lasti)
    return code.name(at) == "IMPORT_STAR" or (code.name(at) == "CALL_INTRINSIC_1" and code.argument(at) == _STAR)


def left_open(frame: types.FrameType, given: Collection[str] = ()) -> tuple[list[str], set[str]]:
    """The names that the code of a module and its functions read, but neither they nor Python define.

    Names that the module has by now are left out, and so are those that it reads where it handles a `NameError`.

    Args:
        frame: the frame that executes the module.
        given: names that the module has by now, and that count as if it had not.

    Returns:
        The names, and those among them that the module reads for sure while it is executed: without one of these, it
        ends with a `NameError`. Nothing if the module, or the code that imports it, is prepared for a `NameError`, or
        asks which names it has.
    """
    codes = codes_of(frame.f_code)
    used = {name for code in codes for name in code.co_names}
    if frame.f_locals is not frame.f_globals or not _ASKS_FOR_NAMES.isdisjoint(used):
        return [], set()
    unknown = used - (frame.f_globals.keys() - set(given)) - vars(builtins).keys()
    handled: set[str] = set()
    reads: set[str] = set()
    for each in codes if unknown else ():
        code = Code(each)
        own = {code.named(at) for at in code.every(_SETS)}
        is_inner = each is not frame.f_code and _is_class(code)
        unknown -= {code.named(at) for at in code.every({"STORE_GLOBAL", "DELETE_GLOBAL"})} if is_inner else own
        for at in code.every(_READS):
            name = code.named(at)
            if name not in unknown or (is_inner and name in own):
                continue
            reads.add(name)
            fate = Walk(code, looking_up(frame.f_globals)).fate(at, NameError)
            if fate.caught or NameError not in fate.escapes:
                handled.add(name)
    lacking = (reads & unknown) - handled
    if not lacking or is_handled(NameError, frame):
        return [], set()
    return sorted(lacking), lacking & _surely_read(Code(frame.f_code), frame.f_lasti)


def _surely_read(code: Code, after: int = -1) -> set[str]:
    """The names that code reads from an instruction on, in every run: no jump passes them by."""
    names: set[str] = set()
    own: set[str] = set()
    passed_by = 0  # where the jumps up to here lead
    for at in range(0, len(code.raw), 2):
        if not code.name(at).startswith("SETUP_"):  # these lead to handlers
            passed_by = max(passed_by, code.jump(at) or 0)
        if at <= after or at < passed_by:
            continue
        op = code.name(at)
        if op in _READS:
            names.add(code.named(at))
        elif op in _SETS:
            own.add(code.named(at))
        elif op == "LOAD_CONST" and isinstance(inner := code.object.co_consts[code.argument(at)], types.CodeType):
            body = Code(inner)
            names |= _surely_read(body) if _is_class(body) else set()
    return names - own


def _is_class(code: Code) -> bool:
    """Whether it is the body of a class, not of a function."""
    return not code.object.co_flags & _OPTIMIZED
