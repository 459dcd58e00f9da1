"""Whether the forward hooks of a module may change what it returns."""

from __future__ import annotations

import dis
import types
from functools import cache
from typing import Any

from hotfix.patching import scope


def only_read(module: Any, fix: str = "") -> bool:
    """Whether the output of a module is what its forward returned, as far as forward hooks go.

    Hooks that return nothing leave it as it is. So do those of packages that pass calls through: DeepSpeed's engine
    at stage 3 has two on every module, which return its output with a node for the backward pass.

    Args:
        module: a ``torch.nn.Module``.
        fix: id of the fix that asks; the report names the first hook that may change the output.
    """
    hooks = module._forward_hooks
    return not hooks or all(_returns_nothing(hook) or scope.is_own(fix, hook) for hook in hooks.values())


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
