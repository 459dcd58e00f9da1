"""Every call: the scores are scaled the wrong way."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "gptbigcode-inverse-scale",
    when="the model scales its attention, as all of its checkpoints do",
    wrong="attention is far too sharp, and the output is garbage",
)


@TRIGGER.strikes("transformers.models.gpt_bigcode.modeling_gpt_bigcode:GPTBigCodeAttention.forward")
def is_multiplied(call: Call) -> bool:
    """The scores are multiplied by more than one."""
    return bool(call.owner.scaling > 1.0)
