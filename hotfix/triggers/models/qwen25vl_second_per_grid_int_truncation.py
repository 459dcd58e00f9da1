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
    """A video of several frames, and seconds between them that are no whole number."""
    seconds, videos = call.get("second_per_grid_ts"), call.get("video_grid_thw")
    if seconds is None or videos is None or not videos.shape[0]:
        return False
    has_frames = videos[:, 0] > 1
    if hasattr(seconds, "device") and seconds.device.type != "cpu":
        broken = seconds != seconds.floor() if seconds.is_floating_point() else seconds != seconds
        return (broken & has_frames).any() if len(broken) == len(has_frames) else broken.any() & has_frames.any()
    rounded = [number for number, interval in enumerate(seconds) if float(interval) != int(interval)]
    if not rounded:
        return False
    if len(seconds) != len(has_frames):  # images have an entry, too
        return has_frames.any()
    return sum(has_frames[number] for number in rounded) > 0
