"""The label smoother takes the mean over a micro-batch that has only some of the labels of the step."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger
from hotfix.triggers.training._trainer import is_deepspeed, release

TRIGGER = Trigger(
    "label-smoothing-by-micro-batch",
    when="label smoothing is on, and other micro-batches or processes have labels of the same step",
    wrong="loss and gradients are too large by the number of accumulation steps and of processes",
    while_repaired=False,
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def has_some_of_the_labels(call: Call) -> Any:
    """The step has more labels than this micro-batch, whose mean nobody divides."""
    trainer, number, labels = call.owner, call.get("num_items_in_batch"), call["inputs"].get("labels")
    if number is None or labels is None or trainer.label_smoother is None or trainer.compute_loss_func is not None:
        return False
    if not trainer.model_accepts_loss_kwargs or _is_divided_by_the_engine(trainer):
        return False
    return (labels != -100).sum() < number


def _is_divided_by_the_engine(trainer: Any) -> bool:
    return is_deepspeed(trainer) and release() < "4.49"
