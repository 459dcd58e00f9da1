"""DataParallel gives each replica, or only the first one, the number of labels in the whole step."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger
from hotfix.triggers.training._swallowed import is_number_used

TRIGGER = Trigger(
    "trainer-dp-loss-mean-num-items",
    when="a script that was started with plain python uses several GPUs",
    wrong="loss and gradients are too small by the number of GPUs, or only the first GPU computes",
)


@TRIGGER.strikes()
def has_replicas(call: Call) -> bool:
    """The model has several replicas, and is handed the number of labels."""
    model, number = call["model"], call.get("num_items_in_batch")
    if type(model).__name__ != "DataParallel" or len(model.device_ids) < 2:
        return False
    return bool(call.owner.model_accepts_loss_kwargs) and is_number_used(call.owner, number)
