"""Labels that were moved before the text was cut up, and are not those that the model gets by moving its part."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.training.shift_labels_dropped_by_heads import FIX
from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files

TRIGGER = Trigger(
    "shift-labels-dropped-by-heads",
    when="labels that were moved before a text was cut up are given, as under context or sequence parallelism",
    wrong="the loss lacks a label in each part of the text",
)


@TRIGGER.strikes()
def are_others(call: Call) -> Any:
    """A truth value, as a tensor, where both are given: whether they are not the same labels."""
    labels, moved = call.get("labels"), call.get("shift_labels")
    if labels is None or moved is None:
        return False
    if moved.shape != labels.shape:
        return True
    return (moved[..., :-1] != labels[..., 1:]).any() | (moved[..., -1] != -100).any()


@TRIGGER.in_files
def may_have_been_cut(run: Files) -> Optional[bool]:
    """Files do not tell how texts were cut up."""
    return False if _files.is_other_class(run, FIX) else None
