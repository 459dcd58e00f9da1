"""Whether hooks may change the inputs or the outputs of a module, and whether layers can be looked at."""

from __future__ import annotations

import sys
import types
from typing import Any

from hotfix.patching import hooks, scope
from hotfix.patching.compiling import settled


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
    before = (*module._forward_pre_hooks.values(), *of_all._global_forward_pre_hooks.values())
    return all(_keeps(hook, fix) for hook in before) and leave_output(module, fix)


def leave_output(module: Any, fix: str = "") -> bool:
    """Whether hooks leave the output of a module as it is; they may change its inputs.

    Args:
        module: a ``torch.nn.Module``.
        fix: id of the fix that asks; the report names the first hook that may change something.
    """
    of_all: Any = sys.modules["torch.nn.modules.module"]
    after = (*module._forward_hooks.values(), *of_all._global_forward_hooks.values())
    moves = module.__dict__.get("_hf_hook")
    return all(_keeps(hook, fix) for hook in after) and all(
        scope.is_class_of(fix, hook, "accelerate") for hook in (moves, *getattr(moves, "hooks", ()))
    )


@settled
def is_plain_list(kind: type) -> bool:
    """Whether a class of containers iterates as a list does; one of the program may bring each layer from a file."""
    import torch

    own = getattr(kind, "__iter__", None)  # a container may have `__getitem__` alone
    return own in (torch.nn.ModuleList.__iter__, list.__iter__, tuple.__iter__)


def _keeps(hook: Any, fix: str) -> bool:
    return _returns_nothing(hook) or scope.is_own(fix, hook)


def _returns_nothing(hook: Any) -> bool:
    function = getattr(hook, "__func__", hook)
    return isinstance(function, types.FunctionType) and hooks.only_reads(function.__code__)
