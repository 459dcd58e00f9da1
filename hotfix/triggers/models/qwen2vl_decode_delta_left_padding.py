"""Decoding in a batch with padding on the left."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwen2vl-decode-delta-left-padding",
    when="prompts that are padded on the left are continued",
    wrong="the positions of what is generated are off by the padding",
)


@TRIGGER.strikes()
def continues_padded(call: Call) -> Any:
    """A later step of `generate`, and a row whose first token is padding."""
    mask, place = call.get("attention_mask"), call.get("cache_position")
    if mask is None or mask.ndim != 2 or place is None or call.get("position_ids") is not None:
        return False
    return (place[0] != 0) & (mask[:, 0] == 0).any()
