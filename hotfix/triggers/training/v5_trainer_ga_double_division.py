"""Accelerate was told the number of micro-batches, and divides once more than the Trainer does."""

from __future__ import annotations

from hotfix.training._swallowed import divisor
from hotfix.trigger import Call, Trigger
from hotfix.triggers.training._trainer import is_deepspeed

TRIGGER = Trigger(
    "v5-trainer-ga-double-division",
    when="gradients are accumulated over more than one micro-batch",
    wrong="gradients are too small by the number of accumulation steps",
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def divides_twice(call: Call) -> bool:
    """What Accelerate divides has been divided; by the Trainer, or by a model that does not ignore the number."""
    trainer = call.owner
    if is_deepspeed(trainer) or trainer.accelerator.gradient_accumulation_steps <= 1:
        return False
    return divisor(trainer, call.get("num_items_in_batch")) == 1
