"""Every call, of a model whose checkpoint has the bias."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "phi-lm-head-bias",
    when="the checkpoint has a bias for the head, as Phi-1, Phi-1.5 and Phi-2 have",
    wrong="the bias of the head is left out of the logits",
    while_repaired=False,
)


@TRIGGER.strikes("transformers.models.phi.modeling_phi:PhiForCausalLM.forward")
def has_no_bias(call: Call) -> bool:
    """The head was made without one."""
    return call.owner.lm_head.bias is None
