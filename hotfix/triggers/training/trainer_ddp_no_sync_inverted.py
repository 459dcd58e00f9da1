"""Several ranks, and gradients that are not averaged after the last micro-batch of a step."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger
from hotfix.triggers.training._trainer import is_deepspeed

TRIGGER = Trigger(
    "trainer-ddp-no-sync-inverted",
    when="there is more than one rank",
    wrong="gradients of the last micro-batch of a step are not averaged, and each rank trains another model",
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def has_other_ranks(call: Call) -> bool:
    """More than one rank, whose gradients are averaged by torch."""
    trainer = call.owner
    return trainer.accelerator.num_processes > 1 and not is_deepspeed(trainer)
