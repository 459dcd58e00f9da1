"""Every call."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "opt-double-scaling",
    when="the model computes anything",
    wrong="attention is almost uniform, and all logits are wrong",
)


@TRIGGER.strikes()
def scales_twice(call: Call) -> bool:
    """A factor of one would do no harm twice."""
    return bool(call.owner.scaling != 1.0)
