"""Padding under FlashAttention-2, which is the only mask that it gets."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "gpt2-fa2-padding-loses-causality",
    when="a batch has padding",
    wrong="every token attends to those that come after it",
)


@TRIGGER.strikes()
def has_padding(call: Call) -> bool:
    """Self-attention of several queries, with a mask."""
    if call.get("attention_mask") is None or call.get("encoder_hidden_states") is not None:
        return False
    return "flash" in call.owner.config._attn_implementation and call["hidden_states"].shape[1] > 1
