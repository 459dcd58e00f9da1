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
    """The configuration has the number, as in all files of Google."""
    return getattr(call.owner.config, "attn_logit_softcapping", None) is not None
