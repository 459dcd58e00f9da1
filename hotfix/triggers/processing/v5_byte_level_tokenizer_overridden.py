"""Nothing that a call is given tells: the tokenizer that the class builds has to be held against that of the file."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-byte-level-tokenizer-overridden",
    why_not="Whether the class of a tokenizer builds another one than tokenizer.json says shows when both are there.",
)
