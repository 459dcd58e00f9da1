"""Tokens without an image and without a cache, after an image."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwenvl-v5-stale-rope-deltas-forward",
    when="a batch without an image, and without a cache, comes after one with an image",
    wrong="positions of text are shifted by those of the image before",
)


@TRIGGER.strikes()
def is_given_an_old_offset(call: Call) -> Any:
    """The branch of the offset, taken by a batch that it is not meant for; an offset of zero shifts nothing."""
    offsets, cache = call.owner.rope_deltas, call.get("past_key_values")
    if offsets is None or call.get("input_ids") is None or (cache is not None and cache.get_seq_length() > 0):
        return False
    has_image = call.get("image_grid_thw") is not None or call.get("video_grid_thw") is not None
    if has_image and ("mm_token_type_ids" not in call or call["mm_token_type_ids"] is not None):
        return False
    return (offsets != 0).any()
