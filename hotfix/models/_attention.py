"""Shared by several attention fixes: whose attention runs, and which sequence lengths belong to a call."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from hotfix.patching import scope
from hotfix.patching.compiling import is_compiling

if TYPE_CHECKING:
    import torch

# The arguments that pass on the lengths of packed sequences, and for each model the module that names them.
_LENGTHS = frozenset({"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"})
_readers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
COMMON = "transformers.modeling_flash_attention_utils:_flash_attention_forward"


def is_flash_of_library(fix: str, implementation: str, attentions: Any) -> bool:
    """Whether a name refers to the library's own flash attention.

    Args:
        fix: id of the fix that asks.
        implementation: name of an attention, such as ``flash_attention_2``; a user's function may be
            registered under any name.
        attentions: the library's table of attentions by name.
    """
    import transformers.integrations.flash_attention as library

    function = attentions.get(implementation)
    function = getattr(function, "func", function)  # a kernel of the hub is a partial object
    if function is library.flash_attention_forward:
        return True
    scope.is_own(fix, function)  # for the report: the user's own function is left alone, and sdpa has no such bug
    return False


def is_repaired_flash(fix: str, implementation: str) -> bool:
    """Whether a name refers to the library's own flash attention, which runs the repaired function of all models.

    Args:
        fix: id of the fix that asks, and that repairs the function.
        implementation: name of an attention.
    """
    import transformers.integrations.flash_attention as library
    import transformers.modeling_flash_attention_utils as utils
    import transformers.modeling_utils as modeling

    if not is_flash_of_library(fix, implementation, modeling.ALL_ATTENTION_FUNCTIONS):
        return False
    if library._flash_attention_forward is not utils._flash_attention_forward:
        return scope.leave_alone(fix, "_flash_attention_forward is your own")
    return scope.is_in_place(fix, COMMON)


def are_read_in_layers(fix: str, model: Any, positions: Any) -> bool:
    """Whether a module of the program's own names the lengths of packed sequences, which `generate` computes.

    Args:
        fix: id of the fix that asks.
        model: the model that generates; its modules are examined in each step with several tokens, and remembered.
        positions: of the tokens of this step, or None.
    """
    if not hasattr(model, "modules"):
        return False
    if model not in _readers or getattr(positions, "shape", (2,))[-1] > 1:
        own = (module for module in model.modules() if scope._reason(module, "forward", "transformers"))
        _readers[model] = next((type(module).__qualname__ for module in own if _names_lengths(module.forward)), "")
    return bool(_readers[model]) and not scope.leave_alone(fix, f"{_readers[model]} is your own, and reads lengths")


def _names_lengths(forward: Any) -> bool:
    code = getattr(getattr(forward, "__func__", forward), "__code__", None)
    return code is not None and not _LENGTHS.isdisjoint((*code.co_varnames, *code.co_consts))


def are_all_tokens(positions: Any, mask: Any) -> bool:
    """Whether the positions of a step of generation are those of one token, or of all tokens up to here.

    Args:
        positions: int64, of shape (batch, tokens of the step); or None.
        mask: attention mask of shape (batch, tokens).
    """
    if getattr(positions, "ndim", 0) != 2:
        return False
    return bool(positions.shape[1] == 1 or (getattr(mask, "ndim", 0) == 2 and mask.shape[1] == positions.shape[1]))


def count_from_zero(positions: torch.Tensor) -> bool:
    """Whether the positions of one sample are 0, 1, 2 and so on. Reads two values from the device.

    Args:
        positions: int64, of shape (1, tokens).
    """
    return int(positions[0, 0]) == 0 and int(positions[0, -1]) == positions.shape[1] - 1


def are_lengths_of(states: torch.Tensor, ends: torch.Tensor, longest: Any) -> bool:
    """Whether lengths of packed sequences can belong to these tokens; False for lengths of an earlier step.

    Args:
        states: queries or keys, of shape (batch, tokens, heads, head width).
        ends: cumulative lengths, of shape (sequences + 1,).
        longest: the longest length. A tensor is read, as the kernel does, but not while code is compiled, which
            cannot pass it to the kernel.
    """
    if not isinstance(longest, int):
        if is_compiling():
            return False
        longest = int(longest)
    tokens = states.shape[0] * states.shape[1]
    return bool(longest <= tokens <= longest * (ends.shape[0] - 1))
