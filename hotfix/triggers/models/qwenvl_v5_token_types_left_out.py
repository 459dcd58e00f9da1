"""Pictures or videos without the types of the tokens."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwenvl-v5-token-types-left-out",
    when="a text with pictures comes without `mm_token_type_ids`, as from the collator of an older framework",
    wrong="the pictures get the positions of text",
)


@TRIGGER.strikes()
def lacks_types(call: Call) -> Any:
    """Pictures of two tokens or more, and no types, in a text without a cache; one token alone has its position."""
    given = call.get("model_kwargs", call)
    cache = given.get("past_key_values", given.get("cache"))
    if given.get("mm_token_type_ids") is not None or (cache is not None and cache.get_seq_length() > 0):
        return False
    ids = given.get("input_ids")
    ids = call.get("inputs_tensor") if ids is None or len(ids) == 0 else ids
    if ids is None or ids.is_floating_point():
        return False
    config, strikes = call.owner.config, False
    for token, grids in ((config.image_token_id, "image_grid_thw"), (config.video_token_id, "video_grid_thw")):
        if given.get(grids) is not None:
            strikes = strikes | ((ids[:, 1:] == token) & (ids[:, :-1] == token)).any()
    return strikes
