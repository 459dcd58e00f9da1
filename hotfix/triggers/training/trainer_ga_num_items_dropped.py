"""The number of labels is kept from a model, or a loss function, that would have divided by it."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._loss_arguments import takes_loss_arguments
from hotfix.triggers.training._trainer import is_divided_later

TRIGGER = Trigger(
    "trainer-ga-num-items-dropped",
    when="gradients are accumulated over more than one micro-batch, for a model that takes the number of labels",
    wrong="loss and gradients are too large by the number of accumulation steps",
)


@TRIGGER.strikes()
def keeps_the_number(call: Call) -> Optional[bool]:
    """The result depends on the number, and the model is not given it.

    How a user's function uses the number of one micro-batch is not known.
    """
    trainer = call.owner
    args = trainer.args
    if not trainer.model_accepts_loss_kwargs or call.get("num_items_in_batch") is None:
        return False
    composed = str(getattr(getattr(trainer.model, "config", None), "model_type", "")).endswith("encoder-decoder")
    if composed or is_divided_later(trainer):
        return False
    if args.gradient_accumulation_steps > 1 or args.average_tokens_across_devices:
        return True
    return None if trainer.compute_loss_func is not None else False


@TRIGGER.in_files
def accumulated(run: Files) -> Optional[bool]:
    """Several micro-batches, a class that takes loss arguments, and no DeepSpeed."""
    takes = takes_loss_arguments(run)
    if takes is False or run.deepspeed:
        return False
    if run.accumulation_steps == 1 and run.processes == 1:  # else the number may be one for all processes
        return False
    if not run.by_trainer or takes is None or (run.accumulation_steps or 1) == 1:
        return None
    return True
