"""A decoding loop that passes all tokens together with a cache, and a mask that is as long as the tokens."""

from __future__ import annotations

from hotfix.names.v5_loop_with_whole_ids import new_tokens, remember
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-loop-with-whole-ids",
    when="a loop gives all tokens, a cache that has some of them, and a mask as long as the tokens",
    wrong="the model gets the tokens of the cache once more",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes()
def gives_them_twice(call: Call) -> bool:
    """Nothing says how many tokens are new; the lengths of cache and tensors show it."""
    names = ("input_ids", "next_sequence_length", "past_key_values", "cache", "attention_mask", "inputs_embeds")
    given = {name: call.get(name) for name in names}
    new = new_tokens(call.owner, given)
    remember(call.owner, given)
    return new is not None
