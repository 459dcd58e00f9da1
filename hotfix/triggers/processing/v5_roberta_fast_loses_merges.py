"""Not observable in the arguments: whichever files the class reads, it loses most of them."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-roberta-fast-loses-merges",
    why_not="Every tokenizer of the class has lost its merges, and its files do not name the class.",
)
