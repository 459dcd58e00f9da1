"""A module of a custom model whose tensors were all loaded, and an ``_init_weights`` as in 4.x."""

from __future__ import annotations

from typing import Optional

from hotfix.loading.v5_custom_weights_initialised_again import has_tensors, was_loaded
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-custom-weights-initialised-again",
    when="a model from outside of the library is loaded, whose `_init_weights` writes into `.data`",
    wrong="weights that were loaded are initialised again",
)


@TRIGGER.strikes()
def was_complete(call: Call) -> Optional[bool]:
    """``torch.nn.init`` respects the flags of loaded tensors; other ways of writing are unknown."""
    module = call["module"]
    if getattr(module, "_is_hf_initialized", False) or not was_loaded(call.owner, module):
        return False
    if not has_tensors(module):
        return False
    initialises = type(call.owner)._init_weights
    if initialises.__module__.startswith("transformers."):
        return False
    names = initialises.__code__.co_names
    return True if "data" in names else False if "init" in names else None
