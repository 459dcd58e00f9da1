"""Decoding past the window with padding in the batch."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files
from hotfix.triggers.models._attention import past_length

TRIGGER = Trigger(
    "fa2-sliding-window-mask-slicing",
    when="a batch with padding is continued past the sliding window",
    wrong="all logits past the window are wrong, also of samples without padding",
)


@TRIGGER.strikes()
def continues_past_the_window(call: Call) -> Optional[bool]:
    """A step with a cache, a mask, and more keys than the window."""
    layer, window = call.owner, getattr(call.owner.config, "sliding_window", None)
    if window is None or call.get("attention_mask") is None or call.get("past_key_value") is None:
        return False
    past = past_length(call["past_key_value"], layer.layer_idx or 0)
    if past is None:
        return None
    return past > 0 and past + call["hidden_states"].shape[1] > window


@TRIGGER.in_files
def may_have_been_past_the_window(run: Files) -> Optional[bool]:
    """Only flash attention, and a model with a window; files do not tell how long texts were."""
    return False if run.sliding_window == 0 or _files.is_without_flash(run) else None
