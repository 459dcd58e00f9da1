"""A request for attentions, or a mask of heads, under sdpa."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "vit-attentions-under-sdpa",
    when="attentions are asked for, or there is a mask of heads",
    wrong="the attentions are None, and all heads count",
)


@TRIGGER.strikes()
def asks_for_heads(call: Call) -> Any:
    """A mask of ones turns no head off. DINOv2 computes the attentions in another way, which respects the mask."""
    asks, mask = bool(call.get("output_attentions")), call.get("head_mask")
    if asks:
        return not type(call.owner).__name__.startswith("Dinov2")
    return mask is not None and (mask != 1).any()
