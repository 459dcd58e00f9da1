"""Not observable in the arguments: the tokenizer of the class has to be compared with that of the file."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-byte-level-tokenizer-overridden",
    why_not="The class's tokenizer has to be compared with that of tokenizer.json, once both exist.",
)
