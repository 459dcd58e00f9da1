"""The model of a Trainer ignores the number of labels, and the Trainer leaves the division to it."""

from __future__ import annotations

from typing import Optional

from hotfix.run_files import Files
from hotfix.training.ga_loss_kwargs_swallowed_seq2seq_v5 import FIX
from hotfix.trigger import Call, Trigger
from hotfix.triggers import _files
from hotfix.triggers.training._swallowed import is_left_undivided

TRIGGER = Trigger(
    "ga-loss-kwargs-swallowed-seq2seq-v5",
    when="gradients are accumulated over more than one micro-batch, for a model of these classes",
    wrong="loss and gradients are too large by the number of accumulation steps",
    while_repaired=False,
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def swallows(call: Call) -> bool:
    """A step of several micro-batches with one of the models that are broken."""
    return is_left_undivided(call.owner, call.get("num_items_in_batch"), FIX.targets)


@TRIGGER.in_files
def accumulated(run: Files) -> Optional[bool]:
    """Several micro-batches without DeepSpeed, and one of the classes."""
    if run.accumulation_steps == 1 or run.deepspeed or _files.is_other_class(run, FIX):
        return False
    return True if run.by_trainer and run.accumulation_steps and _files.is_broken_class(run, FIX) else None
