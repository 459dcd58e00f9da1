"""Whether hooks may change the inputs or the outputs of a module."""

from __future__ import annotations

import sys
import types
from typing import Any

from hotfix.patching import hooks, scope


def only_read(module: Any, fix: str = "") -> bool:
    """Whether hooks leave the inputs and outputs of a module as they are.

    Hooks that return nothing do, unless they may write into what they are given: themselves, or by a call of a function
    or a method that is not known to read only. So do the hooks of packages that pass calls through: DeepSpeed's engine
    at stage 3 has two on every module, which add a node for the backward pass to the output; accelerate's own kind of
    hooks move tensors.

    Args:
        module: a ``torch.nn.Module``.
        fix: id of the fix that asks; the report names the first hook that may change something.
    """
    of_all: Any = sys.modules["torch.nn.modules.module"]
    for kind in (
        module._forward_hooks,
        module._forward_pre_hooks,
        of_all._global_forward_hooks,
        of_all._global_forward_pre_hooks,
    ):
        if kind and not all(_returns_nothing(hook) or scope.is_own(fix, hook) for hook in kind.values()):
            return False
    moves = module.__dict__.get("_hf_hook")
    return all(scope.is_class_of(fix, hook, "accelerate") for hook in (moves, *getattr(moves, "hooks", ())))


def _returns_nothing(hook: Any) -> bool:
    function = getattr(hook, "__func__", hook)
    return isinstance(function, types.FunctionType) and hooks.only_reads(function.__code__)
