"""Eager attention of a model whose configuration has a cap."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "gemma2-attn-softcap-missing",
    when="Gemma 2 computes eager attention, and its configuration has a cap for the scores",
    wrong="attention scores are not capped",
)


@TRIGGER.strikes()
def has_a_cap(call: Call) -> bool:
    """50 where the configuration has no such key."""
    return getattr(call.owner.config, "attn_logit_softcapping", 50.0) is not None
