"""A pixel limit for one call."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import given

TRIGGER = Trigger(
    "qwen2vl-processor-pixels-ignored",
    when="a processor is called with images, or videos, and min_pixels or max_pixels",
    wrong="the limit is ignored, and pictures have as many tokens as without it",
)


@TRIGGER.strikes()
def is_called_with_a_limit(call: Call) -> bool:
    """A limit that is not that of the image processor; among ``images_kwargs`` it is taken."""
    if call.get("images") is None and call.get("videos") is None:
        return False
    if "images_kwargs" in call:
        return False
    processor: Any = getattr(call.owner, "image_processor", call.owner)
    return any(getattr(processor, name, None) != limit for name, limit in given(call).items())
