"""A text begins with a label that is counted, although the model never predicts it."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files
from hotfix.triggers.training._loss_arguments import takes_loss_arguments
from hotfix.triggers.training._swallowed import facts, is_number_used
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "num-items-off-by-one",
    when="the first token of a text is a label, as with labels=input_ids",
    wrong="loss and gradients are too small by one label a text",
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def counts_the_first(call: Call) -> Any:
    """A text of this micro-batch begins with a label, and the loss is divided by how many there are."""
    trainer, number = call.owner, call.get("num_items_in_batch")
    if release() in ("4.47.0", "4.48.0") and trainer.model_accepts_loss_kwargs:
        return False  # the loss does not receive the number; see trainer-ga-num-items-dropped
    if not is_number_used(trainer, number) or not facts(trainer).moves_labels:
        return False
    return begins_with_a_label(call["inputs"])


def begins_with_a_label(inputs: Any) -> Optional[Any]:
    """A truth value, as a tensor; None where there are no labels to look at."""
    labels = inputs.get("labels")
    return None if labels is None or labels.ndim < 2 else (labels[:, 0] != -100).any()


@TRIGGER.in_files
def may_be_counted(run: Files) -> Optional[bool]:
    """The files do not show the labels, but they show whether the model shifts them and receives their number."""
    moves_none = ("ForSequenceClassification", "ForTokenClassification", "ForMaskedLM", "ForQuestionAnswering")
    if run.setting("is_encoder_decoder") is True:
        return False
    if _files.is_of_the_library(run) and all(name.endswith(moves_none) for name in run.architectures):
        return False
    return False if run.release in ("4.47.0", "4.48.0") and takes_loss_arguments(run) else None
