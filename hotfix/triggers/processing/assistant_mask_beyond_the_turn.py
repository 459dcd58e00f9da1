"""A mask of assistant tokens, of a tokenizer that drops white space around an answer."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "assistant-mask-beyond-the-turn",
    when="return_assistant_tokens_mask, and an answer begins or ends with a character that has no token",
    wrong="the mask covers later turns and padding, or leaves out answers",
)


@TRIGGER.strikes()
def has_white_space_without_a_token(call: Call) -> Optional[bool]:
    """None where truncation or the template decides."""
    if not (call["return_assistant_tokens_mask"] and call["tokenize"]):
        return False
    drops = not call.owner(" \n", add_special_tokens=False)["input_ids"]
    if drops and any(answer != answer.strip() for answer in _answers(call["conversation"])):
        return True
    return None if drops or call["truncation"] else False


def _answers(conversation: Any) -> list[str]:
    turns = [turn for part in conversation for turn in (part if isinstance(part, (list, tuple)) else [part])]
    answers = [turn.get("content") for turn in turns if isinstance(turn, dict) and turn.get("role") == "assistant"]
    return [answer for answer in answers if isinstance(answer, str)]
