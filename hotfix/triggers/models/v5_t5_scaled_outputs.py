"""A T5 whose head is not its embedding table."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-t5-scaled-outputs",
    when="the head of a T5 is not its embedding table, as in T5 1.1 and Flan-T5",
    wrong="logits are divided by the root of the width of the model",
)


@TRIGGER.strikes()
def has_a_head_of_its_own(call: Call) -> bool:
    """By the argument of the configuration, or its default."""
    return call.get("tie_word_embeddings", True) is not True
