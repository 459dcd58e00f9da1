"""More keys than the sliding window has."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.models.fa_sliding_window_off_by_one import UTILS
from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files
from hotfix.triggers.models._attention import goes_past, is_longer_than

TRIGGER = Trigger(
    "fa-sliding-window-off-by-one",
    when="a text is longer than the sliding window",
    wrong="flash attention sees one token more than the sliding window has",
)


@TRIGGER.strikes()
def is_past_the_window(call: Call) -> Any:
    """The attention of one model, which applies the window where there are more keys."""
    if not call.get("use_sliding_windows") or not call.owner.is_causal:
        return False
    mask = call.get("attention_mask")
    return True if mask is None else is_longer_than(call.owner.config.sliding_window, mask)


@TRIGGER.strikes(f"{UTILS}:_flash_attention_forward")
def has_more_keys(call: Call) -> Any:
    """The attention of all models."""
    window, mask = call.get("sliding_window"), call.get("attention_mask")
    if window is None or call.get("is_causal") is False or call["key_states"].shape[1] <= window:
        return False
    if mask is not None:
        return is_longer_than(window, mask)
    positions, longest = call.get("position_ids"), call.get("max_length_k")
    if positions is None or call["query_states"].shape[0] > 1 or positions.ndim != 2:
        return True
    return goes_past(window, positions) if longest is None else longest > window


@TRIGGER.strikes(f"{UTILS}:_process_flash_attention_kwargs")
def has_more_keys_or_padding(call: Call) -> bool:
    """The attention of all models in 4.55: here there is no mask, and padding counts as text."""
    window = call.get("sliding_window")
    return window is not None and bool(call.get("is_causal", True)) and call["key_length"] > window


@TRIGGER.in_files
def may_have_been_past_the_window(run: Files) -> Optional[bool]:
    """Only flash attention, and a model with a window; files do not tell how long texts were."""
    return False if run.sliding_window == 0 or _files.is_without_flash(run) else None
