"""Finds the frame that uses a name while `torch.compile` traces: the compiler has the traced frames and positions.

Nothing here may be traced itself. `hotfix.patching.restoring` calls it in functions whose results are constants to the
compiler, and in calls that really run while traced, as in ``torch.export(…, strict=False)``.
"""

from __future__ import annotations

import dis
import sys
import types
from typing import Any, Optional, Union

_COMPILER = "torch._"


class Frame:
    """A traced frame, with the attributes that `hotfix.asking` reads.

    Args:
        tracer: the compiler's object for the frame, an ``InstructionTranslator``.
        at: the offset of the current instruction in the frame's code.
        back: the calling frame.
    """

    def __init__(self, tracer: Any, at: int, back: Union[Frame, types.FrameType, None]) -> None:
        self.f_code: types.CodeType = tracer.f_code
        self.f_globals: dict[str, Any] = tracer.f_globals
        self.f_locals: dict[str, Any] = {}
        self.f_lasti = at
        self.f_lineno: int = getattr(tracer, "lineno", 0)
        self.f_back = back


def asking(module: str) -> Any:
    """The frame that uses the name: a traced one if there is any; None if the compiler does not give its position.

    Args:
        module: name of the module or package whose own frames do not count.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    tracer = None
    while frame is not None and tracer is None:
        if _module(frame).startswith(_COMPILER):
            tracer = _tracer(frame.f_locals.get("self"))
        frame = frame.f_back
    if tracer is None:
        return _outside(sys._getframe(1), module)
    while frame is not None and _module(frame).startswith(_COMPILER):
        frame = frame.f_back
    tracers = []
    while tracer is not None:
        tracers.append(tracer)
        tracer = getattr(tracer, "parent", None)
    back: Any = frame
    for caller in reversed(tracers):
        at = None if _tracer(caller) is None else _offset(caller)
        if at is None:
            return None
        back = Frame(caller, at, back)
    return _outside(back, module)


def _tracer(subject: Any) -> Any:
    """The object itself, if it traces instructions and is at one of the code's own."""
    at = getattr(getattr(subject, "current_instruction", None), "offset", None)
    return subject if isinstance(at, int) and isinstance(getattr(subject, "f_code", None), types.CodeType) else None


def _offset(tracer: Any) -> Optional[int]:
    """Where the current instruction is in the code of the frame; None if that is not certain.

    The compiler works on a list of its own, into which it has put some instructions, and counts the offsets again.
    """
    current = tracer.current_instruction
    place = _place(current)
    offsets = [
        each.offset
        for each in dis.get_instructions(tracer.f_code)
        if each.opcode == current.opcode and _place(each) == place
    ]
    theirs = [each for each in tracer.instructions if each.opcode == current.opcode and _place(each) == place]
    if len(theirs) != len(offsets):
        return None
    return next((offset for offset, each in zip(offsets, theirs) if each is current), None)


def _place(instruction: Any) -> Any:
    """Where an instruction is in the source; what it uses, if Python does not know the columns (before 3.11)."""
    positions = getattr(instruction, "positions", None)
    return instruction.argval if positions is None else positions


def _outside(frame: Any, module: str) -> Any:
    while frame is not None and f"{_module(frame)}.".startswith(f"{module}."):
        frame = frame.f_back
    return frame


def _module(frame: Any) -> str:
    return str(frame.f_globals.get("__name__"))
