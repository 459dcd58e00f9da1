"""Whether the forward hooks of a module may change what it returns."""

from __future__ import annotations

import dis
import types
from functools import cache
from typing import Any


def only_read(module: Any) -> bool:
    """Whether no forward hook of a module returns anything, so that its output is what its forward returned.

    Args:
        module: a ``torch.nn.Module``. Hooks that are no plain function or method count as changing.
    """
    return not module._forward_hooks or all(_returns_nothing(hook) for hook in module._forward_hooks.values())


def _returns_nothing(hook: Any) -> bool:
    function = getattr(hook, "__func__", hook)
    return isinstance(function, types.FunctionType) and _has_no_value(function.__code__)


@cache
def _has_no_value(code: types.CodeType) -> bool:
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST" and instruction.argval is not None:
            return False
        if instruction.opname == "RETURN_VALUE" and not (before.opname == "LOAD_CONST" and before.argval is None):
            return False
        before = instruction
    return True
