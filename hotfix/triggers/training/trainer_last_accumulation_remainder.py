"""Micro-batches that are left at the end of an epoch."""

from __future__ import annotations

import math
from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "trainer-last-accumulation-remainder",
    when="the micro-batches of an epoch do not fill its last accumulation step",
    wrong="they are not all trained on, or the run has fewer steps than its epochs",
)


@TRIGGER.strikes("transformers.trainer:Trainer._inner_training_loop")
def has_a_rest(call: Call) -> Optional[bool]:
    """The answer from the length of the data set, for the data loader that the Trainer makes.

    Not all of the rest is read where the samples leave less than the micro-batches do. There are too few steps where
    the number of steps, rounded down, is lower than that of a whole epoch.
    """
    trainer, args = call.owner, call.owner.args
    if args.gradient_accumulation_steps == 1:
        return False
    if not type(trainer).get_train_dataloader.__module__.startswith("transformers.") or not hasattr(
        trainer.train_dataset, "__len__"
    ):
        return None
    samples, batch = len(trainer.train_dataset), args.train_batch_size * args.world_size
    batches = samples // batch if args.dataloader_drop_last else -(-samples // batch)
    whole, rest = divmod(batches, args.gradient_accumulation_steps)
    if not rest:
        return False
    planned = args.max_steps
    if planned <= 0:
        planned, due = (math.ceil(args.num_train_epochs * max(steps, 1)) for steps in (whole, whole + 1))
        if planned != due:
            return True
    if planned <= whole:  # it ends before the epoch does
        return False
    if release().startswith("4.46.") and (whole or _is_in_the_middle(rest, args.gradient_accumulation_steps, planned)):
        return True
    return bool((samples % args.gradient_accumulation_steps or args.gradient_accumulation_steps) < rest)


def _is_in_the_middle(batches: int, steps: int, epochs: int) -> bool:
    """Whether 4.46, which counts micro-batches from one epoch to the next, makes a step before such an epoch is over.

    Args:
        batches: of an epoch, which are fewer than make a step.
        steps: micro-batches that make one.
        epochs: that are planned.
    """
    return any(count % batches for count in range(steps, min(epochs, steps) * batches + 1, steps))


@TRIGGER.in_files
def may_have_had_a_rest(run: Files) -> Optional[bool]:
    """Only with accumulation; files do not tell how many samples there were."""
    return False if run.accumulation_steps == 1 else None
