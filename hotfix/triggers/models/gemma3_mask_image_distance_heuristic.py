"""Two images that are close together; or images in `generate`, with a cache of fixed length."""

from __future__ import annotations

from typing import Any

from hotfix.models.gemma3_mask_image_distance_heuristic import MASK, PREPARE
from hotfix.trigger import Call, Trigger
from hotfix.triggers.models.gemma3_bidirectional_across_images import beginnings

TRIGGER = Trigger(
    "gemma3-mask-image-distance-heuristic",
    when="two images are close together, or a prompt with an image is continued with a cache of fixed length",
    wrong="an image sees the tokens of another one, or not all of its own",
)


@TRIGGER.strikes(MASK)
def has_neighbours(call: Call) -> Any:
    """The last token of an image is no further from the first of the next one than an image is long.

    Images without a token between them are one run, which is longer than an image.
    """
    import torch

    types, length = call.get("token_type_ids"), call["tokens_per_image"]
    if types is None:
        return False
    places = torch.arange(types.shape[1], device=types.device).expand_as(types)
    last = torch.where(types == 1, places, -1 - length).cummax(-1).values
    near = beginnings(types)[:, 1:] & (places[:, 1:] - last[:, :-1] <= length)
    text = torch.where(types == 1, -1, places).cummax(-1).values
    return near.any() | (places - text > length + 1).any()


@TRIGGER.strikes(PREPARE)
def loses_the_types(call: Call) -> Any:
    """The first step of `generate`, with images and a cache for which the mask is made beforehand."""
    types, cache, ids = call.get("token_type_ids"), call.get("past_key_values"), call.get("input_ids")
    if types is None or ids is None or ids.shape[1] == 1 or not getattr(cache, "is_compileable", False):
        return False
    return (types == 1).any()
