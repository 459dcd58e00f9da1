"""What several fixes of attention share: whose attention runs, and which lengths are those of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.patching import scope

if TYPE_CHECKING:
    import torch

COMMON = "transformers.modeling_flash_attention_utils:_flash_attention_forward"


def is_flash_of_library(fix: str, implementation: str, attentions: Any) -> bool:
    """Whether a name stands for the library's own flash attention.

    Args:
        fix: id of the fix that asks.
        implementation: name of an attention, such as ``flash_attention_2``; a function of the user's may be
            registered under any name.
        attentions: the library's table of attentions by name.
    """
    import transformers.integrations.flash_attention as library

    function = attentions.get(implementation)
    function = getattr(function, "func", function)  # a kernel of the hub is a partial object
    if function is library.flash_attention_forward:
        return True
    scope.is_own(fix, function)  # for the report: one of the user's own is left alone, and sdpa has no such bug
    return False


def is_repaired_flash(fix: str, implementation: str) -> bool:
    """Whether a name stands for the library's own flash attention, which runs the repaired function of all models.

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


def are_all_tokens(positions: Any, mask: Any) -> bool:
    """Whether the positions of a step of generation are those of one token, or of all tokens up to here.

    Args:
        positions: int64, of shape (batch, tokens of the step); or None.
        mask: attention mask of shape (batch, tokens).
    """
    if getattr(positions, "ndim", 0) != 2:
        return False
    return bool(positions.shape[1] == 1 or (getattr(mask, "ndim", 0) == 2 and mask.shape[1] == positions.shape[1]))


def are_lengths_of(states: torch.Tensor, ends: torch.Tensor, longest: Any) -> bool:
    """Whether lengths of packed sequences can be those of these tokens; False for those of an earlier step.

    Args:
        states: queries or keys, of shape (batch, tokens, heads, head width).
        ends: cumulative lengths, of shape (sequences + 1,).
        longest: the longest length. A tensor is read, as the kernel does; it is not while code is compiled, which
            cannot pass it to the kernel.
    """
    if not isinstance(longest, int):
        import torch

        if torch.compiler.is_compiling():
            return False
        longest = int(longest)
    tokens = states.shape[0] * states.shape[1]
    return bool(longest <= tokens <= longest * (ends.shape[0] - 1))
