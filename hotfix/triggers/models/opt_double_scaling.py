"""Every call."""

from __future__ import annotations

from typing import Optional

from hotfix.run_files import Files
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


@TRIGGER.in_files
def is_scaled(run: Files) -> Optional[bool]:
    """Heads of more than one number."""
    size, heads = run.setting("hidden_size"), run.setting("num_attention_heads")
    return True if isinstance(size, int) and isinstance(heads, int) and size > heads else None
