"""The names that this process has received, each with the first place that used it."""

from __future__ import annotations

import os
import types
from typing import Callable, NamedTuple, Optional


class Received(NamedTuple):
    """A name that a program has received.

    Attributes:
        fix: id of the fix.
        place: the first place that used it, as ``train.py:7``.
    """

    fix: str
    place: str


_received: dict[str, Received] = {}

traced_names: set[str] = set()
"""Module names that traced code has received: the compiler reads them again, in C, to check that they are the same."""

_listeners: list[Callable[[], None]] = []
_BETWEEN = ("importlib.", "hotfix.")


def received() -> dict[str, Received]:
    """The names that this process has received because it would have failed without them, by ``module:qualname``."""
    return dict(_received)


def has(target: str) -> bool:
    """Whether this process has received a name."""
    return target in _received


def forget(target: str) -> None:
    """Forget a name that was removed."""
    _received.pop(target, None)
    traced_names.discard(target)


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
