"""A prompt or text that is longer than the window of Gemma2's layers."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.models.gemma2_fa2_no_window import ATTENTION, LAYER
from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files
from hotfix.triggers.models._attention import is_flash, is_longer_than
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "gemma2-fa2-no-window",
    when="a text is longer than the sliding window",
    wrong="layers with a sliding window attend to the whole context, or to keys of other tokens",
)


@TRIGGER.strikes(ATTENTION)
def is_past_the_window(call: Call) -> Any:
    """The window is not passed to the attention."""
    window, mask = getattr(call.owner, "sliding_window", None), call.get("attention_mask")
    if window is None or call["hidden_states"].shape[1] <= window:
        return False
    return is_longer_than(window, mask) if mask is not None and mask.ndim == 2 else True


@TRIGGER.strikes(LAYER)
def cuts_the_mask(call: Call) -> bool:
    """The mask is cut to the window, with more queries than that."""
    layer, mask = call.owner, call.get("attention_mask")
    if not layer.is_sliding or mask is None or mask.ndim != 2 or not is_flash(layer):
        return False
    if call.get("past_key_value") is None and release() != "4.44.0":
        return False
    return bool(call["hidden_states"].shape[1] > layer.sliding_window < mask.shape[1])


@TRIGGER.in_files
def may_have_been_past_the_window(run: Files) -> Optional[bool]:
    """Only flash attention, and a model with a window; files do not tell how long texts were."""
    return False if run.sliding_window == 0 or _files.is_without_flash(run) else None
