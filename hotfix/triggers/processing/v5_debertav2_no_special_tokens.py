"""A tokenizer of this class is made."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-debertav2-no-special-tokens",
    when="a tokenizer of this class is made",
    wrong="its ids lack the special tokens around a text",
)


@TRIGGER.strikes()
def is_made(call: Call) -> bool:
    """Always."""
    return True
