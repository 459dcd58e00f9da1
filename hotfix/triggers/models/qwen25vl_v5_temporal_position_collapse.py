"""A video of several frames, or an image that is placed by an interval."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwen25vl-v5-temporal-position-collapse",
    when="there is a video with several frames, or an interval between them that is not 1",
    wrong="all frames of a video have one temporal position, and their rows are mixed up",
)


@TRIGGER.strikes()
def has_frames(call: Call) -> Any:
    """More than one frame of tokens, or another interval than 1."""
    if call.get("time_interval", 1) != 1:
        return True
    frames = call["grid_thw"][0] // call.get("temp_merge_size", 1)
    return frames > 1
