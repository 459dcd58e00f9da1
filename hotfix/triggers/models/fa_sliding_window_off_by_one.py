"""More keys than the window of flash attention is to show."""

from __future__ import annotations

from typing import Optional

from hotfix.models.fa_sliding_window_off_by_one import UTILS
from hotfix.run_files import Files
from hotfix.trigger import Call, Trigger
from hotfix.triggers import _files

TRIGGER = Trigger(
    "fa-sliding-window-off-by-one",
    when="a sequence, with its padding, is longer than the sliding window",
    wrong="flash attention sees one token more than the sliding window has",
)


@TRIGGER.strikes()
def is_past_the_window(call: Call) -> bool:
    """The attention of one model: it is asked for a window where there are more keys."""
    return bool(call.get("use_sliding_windows"))


@TRIGGER.strikes(f"{UTILS}:_flash_attention_forward", f"{UTILS}:_process_flash_attention_kwargs")
def has_more_keys(call: Call) -> bool:
    """The attention of all models."""
    window = call.get("sliding_window")
    keys = call["key_length"] if "key_length" in call else call["key_states"].shape[1]
    return window is not None and keys > window


@TRIGGER.in_files
def may_have_been_past_the_window(run: Files) -> Optional[bool]:
    """Only flash attention, and a model with a window; files do not tell how long texts were."""
    return False if run.sliding_window == 0 or _files.is_without_flash(run) else None
