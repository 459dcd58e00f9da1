"""Micro-batches that are left at the end of an epoch."""

from __future__ import annotations

from typing import Optional

from hotfix.run_files import Files
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "trainer-last-accumulation-remainder",
    when="the micro-batches of an epoch do not fill its last accumulation step",
    wrong="they are not all trained on, or the run has fewer steps than its epochs",
)


@TRIGGER.strikes("transformers.trainer:Trainer._inner_training_loop")
def has_a_rest(call: Call) -> Optional[bool]:
    """What the length of the data set says, for the data loader that the Trainer makes."""
    trainer, args = call.owner, call.owner.args
    if args.gradient_accumulation_steps == 1:
        return False
    if not type(trainer).get_train_dataloader.__module__.startswith("transformers.") or not hasattr(
        trainer.train_dataset, "__len__"
    ):
        return None
    samples, batch = len(trainer.train_dataset), args.train_batch_size * args.world_size
    batches = samples // batch if args.dataloader_drop_last else -(-samples // batch)
    return bool(batches % args.gradient_accumulation_steps)


@TRIGGER.in_files
def may_have_had_a_rest(run: Files) -> Optional[bool]:
    """Only with accumulation; files do not tell how many samples there were."""
    return False if run.accumulation_steps == 1 else None
