"""A mask with places for the new tokens alone, together with a cache that has keys."""

from __future__ import annotations

from hotfix.models.mask_of_the_step_alone import is_of_the_step_alone
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "mask-of-the-step-alone",
    when="a forward gets a cache with keys and an attention_mask for its new tokens alone",
    wrong="the new tokens see none of the cache but its first keys",
)


@TRIGGER.strikes()
def is_too_short(call: Call) -> bool:
    """The mask of one forward; the lengths of tensors show it."""
    cache = call.get("past_key_values")
    cache = call.get("cache") if cache is None else cache  # its name from 5.24.0 on
    embeddings = call.get("inputs_embeds")
    if embeddings is None:
        embeddings = call["input_embeds"]  # the name in 4.x
    if cache is None:
        return False
    seen = int(cache.get_seq_length())
    return is_of_the_step_alone(call.get("attention_mask"), call["config"], cache, 0, seen + embeddings.shape[1])
