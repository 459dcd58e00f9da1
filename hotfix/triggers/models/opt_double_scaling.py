"""Every call with more than one token."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.models._attention import has_one_key

TRIGGER = Trigger(
    "opt-double-scaling",
    when="there is more than one token",
    wrong="attention is almost uniform, and all logits are wrong",
)


@TRIGGER.strikes()
def scales_twice(call: Call) -> bool:
    """A factor of one would do no harm twice, nor would any to a single score."""
    layer = call.owner
    if has_one_key(call["hidden_states"], call.get("past_key_value"), layer.layer_idx or 0):
        return False
    return bool(layer.scaling == layer.head_dim**-0.5 != 1.0)


@TRIGGER.in_files
def is_scaled(run: Files) -> Optional[bool]:
    """Heads of more than one number."""
    size, heads = run.setting("hidden_size"), run.setting("num_attention_heads")
    return True if isinstance(size, int) and isinstance(heads, int) and size > heads else None
