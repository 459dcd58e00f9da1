"""The output for one recording has a time that is earlier than the one before: the next window has begun."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "whisper-longform-timestamps-reset",
    when="a recording is longer than half a minute, and read from beginning to end, without chunk_length_s",
    wrong="times of chunks after the first half minute are too small by what was heard before",
)


@TRIGGER.strikes()
def goes_back(call: Call) -> Any:
    """A truth value, as a tensor."""
    if not call["return_timestamps"]:
        return False
    begin = call["tokenizer"].convert_tokens_to_ids("<|notimestamps|>") + 1
    struck: Any = False
    for output in call["model_outputs"]:
        if "stride" in output:
            continue
        tokens = output["tokens"][0]
        is_time = tokens >= begin
        latest = (tokens * is_time).cummax(0).values
        struck = struck | (is_time & (tokens < latest)).any()
    return struck
