"""Several texts, of which one has another padding or packing than the first."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.run_files import Files
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "flex-block-mask-batch",
    when="the texts of a batch differ in padding or packing",
    wrong="all of them have the mask of the first one",
)


@TRIGGER.strikes()
def has_other_rows(call: Call) -> Any:
    """A truth value, as a tensor, where there is more than one row."""
    rows = call["attention_mask_2d"]
    return (rows != rows[:1]).any() if len(rows) > 1 else False


@TRIGGER.in_files
def may_have_had_other_rows(run: Files) -> Optional[bool]:
    """Only under flex attention, with more than one text at a time."""
    if run.attention is not None and "flex" not in run.attention:
        return False
    return False if run.batch_size == 1 else None
