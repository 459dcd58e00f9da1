"""One limit of pixels is given, and not both."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import limits
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "qwen2vl-max-pixels-ignored",
    when="one of min_pixels and max_pixels is given for a call, and not both",
    wrong="the limit is ignored, and pictures have as many tokens as without it",
)


@TRIGGER.strikes()
def has_one_limit(call: Call) -> Optional[bool]:
    """One of both; in 4.50 what the processor was given at loading counts as well, which a call does not tell."""
    if release().startswith("4.50."):
        return None
    return limits(call) == 1
