"""A module of a library model whose weight was loaded, and another parameter was not."""

from __future__ import annotations

from hotfix.loading.v5_missing_bias_not_initialised import lacks_a_parameter
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-missing-bias-not-initialised",
    when="the checkpoint has a module's weight and lacks its bias",
    wrong="the bias is what the memory held before",
)


@TRIGGER.strikes()
def is_passed_over(call: Call) -> bool:
    """Whether the module is skipped; modules with buffers are initialized."""
    module = call["module"]
    weight = getattr(module, "weight", None)
    if getattr(module, "_is_hf_initialized", False) or weight is None or list(module.named_buffers()):
        return False
    return getattr(weight, "_is_hf_initialized", False) and lacks_a_parameter(call.owner, module)
