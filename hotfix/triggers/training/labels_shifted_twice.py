"""A model passes labels that are already aligned with its logits to the loss that moves them by one."""

from __future__ import annotations

import sys
from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "labels-shifted-twice",
    when="the model is given labels",
    wrong="the loss is that of the token after the next one",
)


@TRIGGER.strikes()
def is_given_labels(call: Call) -> bool:
    """With labels, unless the user has put in another loss function."""
    losses: Any = sys.modules.get("transformers.loss.loss_utils")
    own = getattr(losses, "ForCausalLMLoss", None)
    return call.get("labels") is not None and call.owner.loss_function is own
