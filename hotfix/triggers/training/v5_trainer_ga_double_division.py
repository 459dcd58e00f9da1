"""Accelerate got the number of micro-batches, and divides once more than the Trainer does."""

from __future__ import annotations

from typing import Optional

from hotfix.training import ga_loss_kwargs_swallowed_vlm
from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._swallowed import facts
from hotfix.triggers.training._trainer import is_deepspeed

TRIGGER = Trigger(
    "v5-trainer-ga-double-division",
    when="gradients are accumulated over more than one micro-batch",
    wrong="gradients are too small by the number of accumulation steps",
    while_repaired=False,
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def divides_twice(call: Call) -> bool:
    """Accelerate divides a loss again that the Trainer, or a model that uses the number, has divided."""
    trainer = call.owner
    if is_deepspeed(trainer) or trainer.accelerator.gradient_accumulation_steps <= 1:
        return False
    left_to_the_model = trainer.model_accepts_loss_kwargs and trainer.compute_loss_func is None
    number = call.get("num_items_in_batch")
    return number is None or not (left_to_the_model and facts(trainer).swallows)


@TRIGGER.in_files
def accumulated(run: Files) -> Optional[bool]:
    """Several micro-batches, no DeepSpeed, and a decoder of text that does not ignore the number."""
    if run.accumulation_steps == 1 or run.deepspeed:
        return False
    if not run.by_trainer or not run.accumulation_steps or run.own_code or len(run.architectures) != 1:
        return None
    [name] = run.architectures
    ignores = {target.qualname.partition(".")[0] for target in ga_loss_kwargs_swallowed_vlm.FIX.targets}
    return True if name.endswith("ForCausalLM") and name not in ignores else None
