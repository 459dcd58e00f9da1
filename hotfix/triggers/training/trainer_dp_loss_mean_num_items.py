"""DataParallel gives each replica, or only the first one, the number of labels in the whole step."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._loss_arguments import takes_loss_arguments
from hotfix.triggers.training._swallowed import is_number_used

TRIGGER = Trigger(
    "trainer-dp-loss-mean-num-items",
    when="a script that was started with plain python uses several GPUs",
    wrong="loss and gradients are too small by the number of GPUs, or only the first GPU computes",
)


@TRIGGER.strikes()
def has_replicas(call: Call) -> bool:
    """The model has several replicas, and receives the number of labels."""
    import torch  # the Trainer has

    model, number = call["model"], call.get("num_items_in_batch")
    if not isinstance(model, torch.nn.DataParallel) or len(model.device_ids) < 2:
        return False
    return bool(call.owner.model_accepts_loss_kwargs) and is_number_used(call.owner, number)


@TRIGGER.in_files
def may_have_had_replicas(run: Files) -> Optional[bool]:
    """One process, and a model that takes the number of labels; files do not tell how many GPUs it used."""
    several_processes = run.parallel is not None or (run.processes or 1) > 1
    return False if several_processes or run.deepspeed or takes_loss_arguments(run) is False else None
