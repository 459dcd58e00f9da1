"""A limit is given to one processor, or to one call, without a size."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import limits

TRIGGER = Trigger(
    "qwen2vl-image-size-mutation",
    when="a processor is made with a limit of pixels, or, in 4.50.0 and 4.50.1, called with one",
    wrong="the limit holds for all processors that are made later, or for all later calls",
)


@TRIGGER.strikes()
def has_a_limit(call: Call) -> bool:
    """A limit, which is written into what others have as well."""
    return limits(call) > 0 and call.get("size") is None
