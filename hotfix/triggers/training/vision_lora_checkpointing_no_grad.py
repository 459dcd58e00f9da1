"""Something is trained in a part that has no hook, under reentrant gradient checkpointing."""

from __future__ import annotations

from typing import Optional

from hotfix.training.vision_lora_checkpointing_no_grad import embeddings_of, parts_of
from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "vision-lora-checkpointing-no-grad",
    when="a part besides the text has frozen embeddings and something to train, under reentrant checkpointing",
    wrong="what is trained in it gets no gradient",
    while_repaired=False,  # the hooks are put there by a function around the method, where calls are not counted
)


@TRIGGER.strikes()
def trains_without_a_hook(call: Call) -> Optional[bool]:
    """The state when gradients are requested: layers frozen or checkpointed later are not known."""
    model = call.owner
    text = model.get_input_embeddings()
    trained = False
    for part in parts_of(model):
        embeddings = embeddings_of(part)
        if embeddings is not None and embeddings is not text:
            wants = any(parameter.requires_grad for parameter in embeddings.parameters())
            trained = trained or (not wants and any(parameter.requires_grad for parameter in part.parameters()))
    if not trained:
        return False
    how = getattr(model, "_gradient_checkpointing_func", None) or next(
        (
            module._gradient_checkpointing_func
            for module in model.modules()
            if hasattr(module, "_gradient_checkpointing_func")
        ),
        None,
    )
    return None if how is None else bool(getattr(how, "keywords", {}).get("use_reentrant", True))


@TRIGGER.in_files
def may_have_trained_a_tower(run: Files) -> Optional[bool]:
    """Only a model with a part that sees; files do not tell of checkpointing."""
    return None if run.setting("vision_config") else False if run.config else None
