"""A pixel limit that is written into shared state."""

from __future__ import annotations

from typing import Any

from hotfix.processing.qwen2vl_image_size_mutation import TABLE
from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import differs, given
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "qwen2vl-image-size-mutation",
    when="an image processor is made, or called, with min_pixels or max_pixels",
    wrong="the limit applies to all later processors or calls without one",
)

_CALLS = tuple(name for name, _ in TABLE if name.endswith(".preprocess"))


@TRIGGER.strikes()
def is_made_with_a_limit(call: Call) -> Any:
    """Whether a limit differs from that of the class, whose ``size`` the constructor starts with."""
    # Up to 4.53.3 a size is ignored (qwen2vl-image-processor-size-discarded) in favour of that of the class.
    if call.get("size") is not None and not release().startswith(("4.50.", "4.51.", "4.52.", "4.53.")):
        return False
    return differs(given(call), getattr(call.owner, "size", None))


@TRIGGER.strikes(*_CALLS)
def is_called_with_a_limit(call: Call) -> Any:
    """A limit that is not that of the processor."""
    return call.get("size") is None and differs(given(call), call.owner.size)
