"""DeepSpeed's engine divides a loss that the Trainer, or the model, has normalized over the whole step."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._trainer import is_deepspeed, release

TRIGGER = Trigger(
    "deepspeed-double-gas-scaling",
    when="gradients are accumulated over more than one micro-batch under DeepSpeed, and the loss is normalized before",
    wrong="gradients are too small by the number of accumulation steps",
)


@TRIGGER.strikes()
def scales_again(call: Call) -> bool:
    """Several micro-batches, and a loss that needs no other division."""
    trainer, number = call.owner, call.get("num_items_in_batch")
    if not is_deepspeed(trainer) or trainer.args.gradient_accumulation_steps <= 1:
        return False
    takes, has_function = trainer.model_accepts_loss_kwargs, trainer.compute_loss_func is not None
    if release() in ("4.46.2", "4.46.3", "4.47.1"):
        return number is not None and bool(takes or has_function)
    if release() == "4.48.0":
        return number is None or bool(not takes and has_function)
    return True


@TRIGGER.in_files
def accumulated(run: Files) -> Optional[bool]:
    """Several micro-batches under DeepSpeed; from 4.48.1 on every loss is normalized before."""
    if run.accumulation_steps == 1 or run.deepspeed is False:
        return False
    divides = run.by_trainer and run.deepspeed and run.accumulation_steps
    return True if divides and run.release in ("4.48.1", "4.48.2", "4.48.3") else None
