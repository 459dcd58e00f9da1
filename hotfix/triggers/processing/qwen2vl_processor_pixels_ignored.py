"""A limit of pixels is given for a call."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import limits

TRIGGER = Trigger(
    "qwen2vl-processor-pixels-ignored",
    when="a processor is called with a limit of pixels",
    wrong="the limit is ignored, and pictures have as many tokens as without it",
)


@TRIGGER.strikes()
def has_a_limit(call: Call) -> bool:
    """One limit or both, for this call."""
    return limits(call) > 0
