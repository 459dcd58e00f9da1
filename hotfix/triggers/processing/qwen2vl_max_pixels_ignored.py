"""One pixel limit without the other; in 4.50 limits from loading."""

from __future__ import annotations

from typing import Any

from hotfix.processing.qwen2vl_max_pixels_ignored import OLD, TABLE
from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import EDGES, differs, given
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "qwen2vl-max-pixels-ignored",
    when="an image processor is called with one of min_pixels and max_pixels, or in 4.50 loaded with any of them",
    wrong="the limit is ignored, and pictures have as many tokens as without it",
)


@TRIGGER.strikes()
def is_given_one_limit(call: Call) -> Any:
    """Whether one limit differs from the size; the processor's own limit yields to a given size."""
    limits, size, owner = given(call), call.get("size"), call.owner
    if len(limits) != 1:
        return False
    own = {name: limit for name in EDGES if (limit := getattr(owner, name, None)) is not None}
    if size is not None and size != owner.size and limits == own:
        return False
    return differs(limits, owner.size if size is None else size)


@TRIGGER.strikes(*(name for name, _ in (*TABLE, OLD) if name.endswith(".preprocess")))
def has_limits_of_its_own(call: Call) -> Any:
    """In 4.50 limits that differ from its size, later one of the two limits."""
    limits, owner = given(call), call.owner
    own = {name: limit for name in EDGES if (limit := getattr(owner, name, None)) is not None}
    if call.get("size") is not None:
        return False
    if release().startswith("4.50."):
        return differs({name: limit for name, limit in own.items() if name not in limits}, owner.size)
    return len({**own, **limits}) == 1 and differs({**own, **limits}, owner.size)
