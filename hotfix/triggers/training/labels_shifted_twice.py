"""A model hands labels that stand below its logits to the loss that moves them by one."""

from __future__ import annotations

import sys
from typing import Any, Optional

from hotfix.run_files import Files
from hotfix.training.labels_shifted_twice import FIX
from hotfix.trigger import Call, Trigger
from hotfix.triggers import _files

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


@TRIGGER.in_files
def is_one_of_them(run: Files) -> Optional[bool]:
    """Files do not tell of labels, but of the class."""
    return False if _files.is_other_class(run, FIX) else None
