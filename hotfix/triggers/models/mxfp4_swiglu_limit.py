"""Nothing that a call is given tells: only numbers within the fused kernel are larger than the limit, or not."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "mxfp4-swiglu-limit",
    why_not="Whether an activation exceeds the limit is known within the fused kernel alone.",
)
