"""What later releases call ``dtype`` is kept by earlier ones as something that they do not know, and saved again."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Files, Trigger

TRIGGER = Trigger(
    "torch-dtype-key-dtype-in-v4",
    when="what was loaded had been saved by 4.56 or later",
    wrong="the dtype that it was saved in is not known: a model is loaded in another one, unless it is named",
)


@TRIGGER.in_files
def is_left_over(run: Files) -> Optional[bool]:
    """Both names in one configuration, with other values."""
    if not run.config:
        return None
    said, read = run.setting("dtype"), run.setting("torch_dtype")
    if said is None:
        return False
    return True if read is not None and read != said else None
