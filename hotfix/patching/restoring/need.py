"""Whether the program would fail without a name. The calling frames decide (see `hotfix.asking`)."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Optional

from .. import traced
from ..compiling import settled
from . import receipts

SUBSCRIPT = "[]"  # `hotfix.asking.SUBSCRIPT`, which is imported on first use

_asking: Any = None
_LISTING = frozenset(("dir", "vars", "__dict__"))
_granted: ContextVar[frozenset[str]] = ContextVar("granted", default=frozenset())


def prepare() -> None:
    """Import the module that inspects frames.

    Not at the top, because most processes repair nothing. Not at first use either: that is in the program's own calls,
    and hotfix may be gone from `sys.modules` by then.
    """
    global _asking
    from ... import asking

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


def leaving(error: type[BaseException], frame: types.FrameType, name: str, of_module: bool) -> Any:
    """See `hotfix.asking.leaving`."""
    return _asking.leaving(error, frame, name, of_module=of_module)


def is_passed_on(error: Any, frame: Optional[types.FrameType]) -> bool:
    """See `hotfix.asking.is_passed_on`."""
    return bool(_asking.is_passed_on(error, frame))


def is_indexed(frame: types.FrameType) -> bool:
    """Whether code reads an item, with brackets."""
    return bool(_asking.asker(frame, SUBSCRIPT) != "unknown")


def imports(frame: types.FrameType) -> bool:
    """Whether a frame is at a ``from module import name``.

    Python 3.9 and 3.10 point at the prefix of an instruction whose name index is above 255.
    """
    from opcode import opmap

    code, at = frame.f_code.co_code, frame.f_lasti
    while code[at] == opmap["EXTENDED_ARG"]:
        at += 2
    return code[at] == opmap["IMPORT_FROM"]


def is_needed(frame: types.FrameType, name: str, how: str, target: str = "") -> bool:
    """Whether the program would fail without a name, an item or a key."""
    if target in _granted.get():
        return True
    if target in receipts.traced_names and not is_by_name(frame, name):
        return True
    if how == "key":
        return would_end(KeyError, frame, SUBSCRIPT)
    if how == "item" and would_end(TypeError, frame, SUBSCRIPT):
        return True
    return would_end(AttributeError, frame, name, of_module=how == "module")


@settled
def is_needed_in_trace(name: str, target: str, fix: str, how: str) -> bool:
    """The same for code that `torch.compile` traces; records the name if it is given."""
    frame = traced.asking(__name__.rpartition(".")[0])
    if frame is None or not (is_ours(frame) or is_needed(frame, name, how, target)):
        return False
    if target and how == "module":
        receipts.traced_names.add(target)
    receipts.note(target, fix, frame)
    return True


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


def is_ours(frame: types.FrameType) -> bool:
    """Whether the frame belongs to hotfix, as when a fix uses one of its own parts."""
    return str(frame.f_globals.get("__name__")).startswith("hotfix.")


def is_by_name(frame: types.FrameType, name: str) -> bool:
    """Whether code reads an attribute of this name, with a dot or with `getattr` and the like."""
    return bool(_asking.asker(frame, name) != "unknown")


def reads_all_names(frame: types.FrameType) -> bool:
    """Whether code lists all names of a class (`dir`, `vars`) and reads them with `getattr(object, variable)`."""
    lists = not _LISTING.isdisjoint(frame.f_code.co_names)
    if frame.f_code.co_name.startswith("<") and frame.f_back is not None:  # a comprehension gets the list
        lists = lists or not _LISTING.isdisjoint(frame.f_back.f_code.co_names)
    if not lists or _asking.handles(AttributeError, frame):  # `inspect.getmembers` skips what is not there
        return False
    return bool(_asking.asker(frame, "()") == "plain")  # no attribute has this name: it is a call of `getattr`
