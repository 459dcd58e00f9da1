"""What a class makes of tokenizer.json is not seen from its arguments."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-byte-level-tokenizer-overridden",
    why_not="Whether a class cuts text otherwise than its tokenizer.json says is seen only when both are made.",
)
