"""The arguments of a call do not show it: only values inside the fused kernel may exceed the limit."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "mxfp4-swiglu-limit",
    why_not="Whether an activation exceeds the limit is known within the fused kernel alone.",
)
