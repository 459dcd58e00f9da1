"""Whether hooks may change the inputs or the outputs of a module."""

from __future__ import annotations

import dis
import sys
import types
from typing import Any

from hotfix.patching import scope

_codes: dict[types.CodeType, bool] = {}


def only_read(module: Any, fix: str = "") -> bool:
    """Whether hooks leave the inputs and outputs of a module as they are.

    Hooks that return nothing do, and so do the hooks of packages that pass calls through: DeepSpeed's engine at stage
    3 has two on every module, which add a node for the backward pass to the output; accelerate's own kind of hooks
    move tensors.

    Args:
        module: a ``torch.nn.Module``.
        fix: id of the fix that asks; the report names the first hook that may change something.
    """
    of_all: Any = sys.modules["torch.nn.modules.module"]
    for hooks in (
        module._forward_hooks,
        module._forward_pre_hooks,
        of_all._global_forward_hooks,
        of_all._global_forward_pre_hooks,
    ):
        if hooks and not all(_returns_nothing(hook) or scope.is_own(fix, hook) for hook in hooks.values()):
            return False
    moves = module.__dict__.get("_hf_hook")
    return all(scope.is_class_of(fix, hook, "accelerate") for hook in (moves, *getattr(moves, "hooks", ())))


def _returns_nothing(hook: Any) -> bool:
    function = getattr(hook, "__func__", hook)
    return isinstance(function, types.FunctionType) and _has_no_value(function.__code__)


@scope.settled
def _has_no_value(code: types.CodeType) -> bool:
    known = _codes.get(code)
    if known is None:
        known = _codes[code] = _returns_only_none(code)
    return known


def _returns_only_none(code: types.CodeType) -> bool:
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST" and instruction.argval is not None:
            return False
        if instruction.opname == "RETURN_VALUE":
            is_none = before.opname == "LOAD_CONST" and before.argval is None
            if (
                not is_none or instruction.is_jump_target
            ):  # else another value may come here: `x if condition else None`
                return False
        before = instruction
    return True
