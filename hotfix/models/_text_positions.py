"""The positions of tokens in their text, from the three rows of positions of Qwen's rotary embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.models import _registered

if TYPE_CHECKING:
    import torch


def of(fix: str, positions: torch.Tensor, config: Any, eager: Any = None) -> torch.Tensor:
    """The positions that decide which tokens are of one sequence, of shape (batch, tokens).

    They are the temporal ones, as in the release, for every row of tokens in which those say where sequences begin: for
    texts, packed or not, and under FlashAttention, which looks for a position of 0 only, for most texts with images.
    For the other rows they are counted anew from each token whose three positions are 0. Nothing is read from the
    device. An attention of the user's own may read them for another purpose: it gets the temporal ones.

    Args:
        fix: id of the fix that asks.
        positions: time, row and column, of shape (3, batch, tokens).
        config: of the decoder.
        eager: its eager attention.
    """
    import torch

    temporal = positions[0]
    if not _registered.is_own(fix, config, eager):
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
