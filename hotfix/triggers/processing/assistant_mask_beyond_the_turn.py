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
    if not call.owner.is_fast:
        return False  # an error
    places = call.owner(" \n", add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    drops = all(first == last for first, last in places)
    if drops and any(_has_space(messages, bool(call["padding"])) for messages in _conversations(call["conversation"])):
        return True
    return None if drops or call["truncation"] else False


def _conversations(given: Any) -> list[Any]:
    return list(given) if given and isinstance(given[0], (list, tuple)) else [given]


def _has_space(messages: Any, is_padded: bool) -> bool:
    """Whether an answer begins with white space, or ends with it before something else."""
    for number, message in enumerate(messages, 1):
        answer = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else ""
        if isinstance(answer, str) and answer != (
            answer.strip() if is_padded or messages[number:] else answer.lstrip()
        ):
            return True
    return False
