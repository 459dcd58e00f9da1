"""Several ranks, and gradients that are not averaged after the last micro-batch of a step."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._trainer import is_deepspeed

TRIGGER = Trigger(
    "trainer-ddp-no-sync-inverted",
    when="there is more than one rank",
    wrong="gradients of the last micro-batch of a step are not averaged, and each rank trains a different model",
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def has_other_ranks(call: Call) -> bool:
    """More than one rank, whose gradients are averaged by torch."""
    trainer = call.owner
    return trainer.accelerator.num_processes > 1 and not is_deepspeed(trainer)


@TRIGGER.in_files
def had_other_ranks(run: Files) -> Optional[bool]:
    """More than one process, and no DeepSpeed."""
    if run.processes == 1 or run.deepspeed:
        return False
    return True if run.by_trainer and run.deepspeed is False and (run.processes or 1) > 1 else None
