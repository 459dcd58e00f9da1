"""The positions of tokens in their text, from the three rows of positions of Qwen's rotary embedding."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hotfix.models import _hooks, _registered
from hotfix.patching import scope
from hotfix.patching.compiling import settled

if TYPE_CHECKING:
    import torch

_MASKS = "create_causal_mask", "create_sliding_window_causal_mask"


def of(fix: str, positions: torch.Tensor, config: Any, module: str, layers: Any) -> torch.Tensor:
    """The positions that decide which tokens belong to one sequence, of shape (batch, tokens).

    They are the temporal ones, as in the release, for every row in which these show where sequences begin: for texts,
    packed or not, and under FlashAttention, which looks for a position of 0 only, for most texts with images. In other
    rows they are counted from each token whose three positions are 0. Nothing is read from the device. A custom
    attention, as a function, a module or a layer, and a custom mask may read them for another purpose, and get the
    temporal ones.

    Args:
        fix: id of the fix that asks.
        positions: time, row and column, of shape (3, batch, tokens).
        config: of the decoder.
        module: name of the decoder's module, which may have an eager attention, and has the functions for masks.
        layers: the layers of the decoder.
    """
    import torch

    temporal = positions[0]
    # Not globals(), which torch.compile cannot trace.
    names = sys.modules.get(module)
    eager = getattr(names, "eager_attention_forward", None)
    if not _registered.is_own(fix, config, eager) or not _registered.has_own_mask(fix, config):
        return temporal
    if not all(scope.is_own(fix, getattr(names, name, None)) for name in _MASKS):
        return temporal
    if not _hooks.is_plain_list(type(layers)) or not _are_global_hooks_own(fix):
        return temporal
    for layer in layers:
        attention = getattr(layer, "self_attn", None)  # Qwen3.5 has layers without one
        if not (scope.is_own(fix, layer, "forward") and scope.is_own(fix, attention, "forward")):
            return temporal
        if not all(scope.is_own(fix, hook) for module in (layer, attention) for hook in _hooks_with_arguments(module)):
            return temporal
    begins = (positions == 0).all(0)
    if _registered.is_flash(config):
        says = ((temporal == 0) == begins).all(-1, keepdim=True) & begins[:, :1]
    else:
        says = ((temporal.diff(dim=-1) != 1) == begins[:, 1:]).all(-1, keepdim=True)
    is_text = (positions == temporal).all(-1).all(0)[:, None]
    places = torch.arange(temporal.shape[-1], device=temporal.device).expand(temporal.shape)
    in_text = places - torch.where(begins, places, 0).cummax(-1).values
    return torch.where(is_text | says, temporal, in_text.to(temporal.dtype))


def _hooks_with_arguments(module: Any) -> Iterator[Any]:
    """The hooks of a module that see the arguments which it is given by name."""
    for kind in ("_forward_pre_hooks", "_forward_hooks"):
        named = getattr(module, f"{kind}_with_kwargs", None) or {}
        yield from (hook for place, hook in (getattr(module, kind, None) or {}).items() if place in named)


@settled
def _are_global_hooks_own(fix: str) -> bool:
    """Whether hooks of all modules that see arguments by name, if there are any, are no code of the program."""
    of_all: Any = sys.modules["torch.nn.modules.module"]
    named = getattr(of_all, "_global_forward_hooks_with_kwargs", {})
    return all(scope.is_own(fix, hook) for place, hook in of_all._global_forward_hooks.items() if place in named)
