"""The place that a warning names when one of our wrappers is between the function that warns and its caller.

A decorator of the library, such as the one for renamed arguments, warns with ``stacklevel=2``: at the place of its
caller. With a wrapper of ours around it, that would be a file of hotfix, and filters by module would not apply. So the
module of such a decorator gets a substitute for `warnings` that leaves our frames out, until the wrapper is removed.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterable
from typing import Any, Optional

from .. import asking

_HERE = __name__.removesuffix(".patching.placing")  # another name if hotfix is vendored
_NAME = "warnings"

_users: dict[int, set[int]] = {}  # wrapped objects, by the namespace that has the substitute


def put(user: object, layers: Iterable[Any]) -> None:
    """Give the modules of decorators the substitute.

    Args:
        user: identifies the wrapper that needs it, until `take_out`.
        layers: the decorators below the wrapper.
    """
    for names in _namespaces(layers):
        if names.get(_NAME) is warnings:
            names[_NAME] = _substitute
        if names.get(_NAME) is _substitute:
            _users.setdefault(id(names), set()).add(id(user))


def take_out(user: object, layers: Iterable[Any]) -> None:
    """Give the modules back what they had, unless another wrapper needs the substitute; arguments as in `put`."""
    for names in _namespaces(layers):
        users = _users.get(id(names), set())
        users.discard(id(user))
        if not users and names.get(_NAME) is _substitute:
            names[_NAME] = warnings


def _namespaces(layers: Iterable[Any]) -> list[dict[str, Any]]:
    functions = [layer for layer in layers if type(layer) is types.FunctionType]
    return [function.__globals__ for function in functions if {_NAME, "warn"} <= {*function.__code__.co_names}]


class _Substitute(types.ModuleType):
    """`warnings`, except that its `warn` does not count the frames of hotfix."""

    def warn(self, *args: Any, **kwargs: Any) -> None:
        if type(warnings.warn) is not types.BuiltinFunctionType:  # the program's own
            warnings.warn(*args, **kwargs)
            return
        level = args[2] if len(args) > 2 else kwargs.pop("stacklevel", 1)
        level += 1 + _of_ours(sys._getframe(1), level - 1)
        warnings.warn(*args[:2], stacklevel=level, **dict(zip(("source",), args[3:])), **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)


_substitute = _Substitute(_NAME, warnings.__doc__)


def _of_ours(frame: Optional[types.FrameType], level: int) -> int:
    """How many frames of hotfix there are up to the frame that is `level` frames up, without these."""
    count = 0
    while level > 0 and frame is not None and frame.f_back is not None:
        frame = frame.f_back
        if _is_ours(frame):
            count += 1
        elif not _is_skipped(frame):
            level -= 1
    return count


def _is_ours(frame: types.FrameType) -> bool:
    """Whether a frame is that of a wrapper or of another function of hotfix, whose proofs are programs."""
    module = str(frame.f_globals.get("__name__"))
    is_of_hotfix = f"{module}.".startswith(f"{_HERE}.") and not module.startswith(f"{_HERE}.proofs.")
    return is_of_hotfix or asking.is_wrapper(frame)


def _is_skipped(frame: types.FrameType) -> bool:
    """Whether `warnings` itself does not count a frame: it belongs to the import system."""
    return "importlib" in frame.f_code.co_filename and "_bootstrap" in frame.f_code.co_filename
