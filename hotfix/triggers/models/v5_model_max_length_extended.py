"""Every text of a model whose file says how long it may be, unless the caller says how long this one may be."""

from __future__ import annotations

from hotfix.models.v5_model_max_length_extended import is_of_the_file
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-model-max-length-extended",
    when="the generation_config of the model has a max_length, beyond the prompt, and the caller gives no length",
    wrong="texts may be longer than that, by the length of the prompt",
)


@TRIGGER.strikes()
def goes_by_the_models_length(call: Call) -> bool:
    """Nobody else has said one."""
    model, given = call.owner.generation_config, call.get("generation_config")
    if model.max_length is None or call.get("max_length") is not None or call.get("max_new_tokens") is not None:
        return False
    if given is not None and given.max_length is not None:
        return False
    if not all(config is None or config.max_new_tokens is None for config in (model, given)):
        return False
    return is_of_the_file(model)
