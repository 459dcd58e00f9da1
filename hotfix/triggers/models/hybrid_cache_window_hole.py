"""A token fills the last place of a sliding cache: after a prompt that is shorter than the window."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "hybrid-cache-window-hole",
    when="a prompt is shorter than the window of a sliding layer, and prompt and answer together are not",
    wrong="the answer is generated with an empty place in the window, and without the first token, from there on",
)


@TRIGGER.strikes()
def fills_the_last_place(call: Call) -> Any:
    """A truth value, as a tensor."""
    positions = call.get("cache_position")
    places = call["cache_kwargs"]["cache_position"] if positions is None else positions
    length = call.get("max_cache_len") or call.owner.max_cache_len
    if len(places) >= length:
        return False
    is_last = places[-1] == length - 1
    if len(places) > 1:
        return is_last
    content = call.owner.key_cache[call["layer_idx"]][:, :, -1].ne(0).any()
    return is_last & ~content.to(is_last.device)
