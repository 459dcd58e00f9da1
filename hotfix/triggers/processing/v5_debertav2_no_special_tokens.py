"""Every tokenizer of the class."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-debertav2-no-special-tokens",
    when="a tokenizer of DeBERTa-v2 or v3 is made",
    wrong="it puts no [CLS] and no [SEP] around a text",
)


@TRIGGER.strikes()
def is_made(call: Call) -> bool:
    """Whatever it is made of."""
    return True
