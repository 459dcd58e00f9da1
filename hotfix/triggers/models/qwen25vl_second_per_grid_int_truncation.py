"""A video whose frames are not a whole number of seconds apart."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwen25vl-second-per-grid-int-truncation",
    when="the frames of a video are not a whole number of seconds apart",
    wrong="frames are too close in time, or at the same time",
)


@TRIGGER.strikes()
def is_rounded(call: Call) -> Any:
    """A video, and seconds that are no whole number."""
    seconds, videos = call.get("second_per_grid_ts"), call.get("video_grid_thw")
    if seconds is None or videos is None or not videos.shape[0]:
        return False
    if hasattr(seconds, "device"):
        return (seconds != seconds.floor()).any() if seconds.is_floating_point() else False
    return any(float(one) != int(one) for one in seconds)
