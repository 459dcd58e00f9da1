"""Several tokens in a decoder."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "decoder-attends-to-the-future",
    when="a decoder gets more than one token, without a mask of four dimensions",
    wrong="each token sees those that follow it",
)


@TRIGGER.strikes()
def has_later_tokens(call: Call) -> bool:
    """A decoder by its configuration; the sparse blocks of BigBird are not those of a decoder in any release."""
    model, mask = call.owner, call.get("attention_mask")
    tokens, states = call.get("input_ids"), call.get("inputs_embeds")
    given = states if tokens is None else tokens
    if not model.config.is_decoder or not getattr(model.config, "is_causal", True) or given is None:
        return False
    if getattr(model, "attention_type", "original_full") == "block_sparse":
        blocks = (5 + 2 * model.config.num_random_blocks) * model.config.block_size
        if given.shape[1] > blocks:
            return False
    return bool(given.shape[1] > 1 and getattr(mask, "ndim", 2) == 2)
