"""Every call: the scores are scaled the wrong way."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.models._attention import has_one_key

TRIGGER = Trigger(
    "gptbigcode-inverse-scale",
    when="the model scales its attention, as all of its checkpoints do",
    wrong="attention is far too sharp, and the output is garbage",
)


@TRIGGER.strikes("transformers.models.gpt_bigcode.modeling_gpt_bigcode:GPTBigCodeAttention.forward")
def is_multiplied(call: Call) -> bool:
    """The scores are multiplied by more than one, and there are several."""
    layer = call.owner
    if has_one_key(call["hidden_states"], call.get("layer_past"), layer.layer_idx or 0):
        return False
    return bool(layer.scaling > 1.0)


@TRIGGER.in_files
def is_scaled(run: Files) -> Optional[bool]:
    """Heads of more than one number whose scores are scaled."""
    scales, size, heads = (run.setting(name) for name in ("scale_attn_weights", "n_embd", "n_head"))
    if scales is False:
        return False
    is_known = scales is True and isinstance(size, int) and isinstance(heads, int)
    return True if is_known and size > heads else None
