"""Several micro-batches a step, and a loss that is a mean over one of them: nobody divides by their number."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._loss_arguments import takes_loss_arguments
from hotfix.triggers.training._trainer import is_divided_later, release

TRIGGER = Trigger(
    "trainer-ga-multiplied-loss",
    when="gradients are accumulated over more than one micro-batch, for a model that takes no loss arguments",
    wrong="gradients, or the loss that is reported, are too large by the number of accumulation steps",
)


@TRIGGER.strikes()
def accumulates(call: Call) -> bool:
    """A step of several micro-batches whose loss nobody has normalized over the step."""
    trainer, number = call.owner, call.get("num_items_in_batch")
    if trainer.args.gradient_accumulation_steps <= 1:
        return False
    if number is not None and (trainer.model_accepts_loss_kwargs or trainer.compute_loss_func is not None):
        return False
    # 4.46.1 cancels whatever divides later; the others divide what they report where there is no number.
    return release() == "4.46.1" or not is_divided_later(trainer) or number is not None


@TRIGGER.in_files
def accumulated(run: Files) -> Optional[bool]:
    """Several micro-batches, and a class that takes no loss arguments.

    One that takes them is no way out: where a batch has no ``labels`` (DPO), nobody divides either.
    """
    if run.accumulation_steps == 1:
        return False
    if not run.by_trainer or not run.accumulation_steps or takes_loss_arguments(run) is not False:
        return None
    return True
