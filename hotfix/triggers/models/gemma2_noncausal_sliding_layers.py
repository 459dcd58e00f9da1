"""A mask of more than one token, or with padding in it."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "gemma2-noncausal-sliding-layers",
    when="a layer with a sliding window is given a mask that forbids anything",
    wrong="every second layer sees the tokens that are still to come, and padding",
)


@TRIGGER.strikes()
def forbids_something(call: Call) -> Any:
    """The triangle takes from a mask what is still to come, and the padding."""
    mask = call.get("attention_mask")
    if mask is None or not call.owner.is_sliding:
        return False
    return mask.dim() != 4 or (mask != 0).any()
