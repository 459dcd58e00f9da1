"""Older releases keep the newer key ``dtype`` as an unknown attribute, and save it again."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Files, Trigger

TRIGGER = Trigger(
    "torch-dtype-key-dtype-in-v4",
    when="what was loaded had been saved by 4.56 or later",
    wrong="the dtype of the checkpoint is unknown: the model is loaded in another one, unless the caller names it",
)


@TRIGGER.in_files
def is_left_over(run: Files) -> Optional[bool]:
    """Both names in one configuration, with different values."""
    if not run.config:
        return None
    said, read = run.setting("dtype"), run.setting("torch_dtype")
    if said is None:
        return False
    return True if read is not None and read != said else None
