"""Not observable in the arguments: where truncation cuts a text is known once it has been tokenized."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "assistant-mask-of-a-cut-answer",
    why_not="Whether truncation cuts an answer is known once the template was rendered and the text tokenized.",
)
