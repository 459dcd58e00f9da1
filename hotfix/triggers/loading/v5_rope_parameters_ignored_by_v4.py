"""4.x keeps ``rope_parameters`` of 5.x as an unknown attribute, and saves it again."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Files, Trigger

TRIGGER = Trigger(
    "v5-rope-parameters-ignored-by-v4",
    when="what was loaded had been saved by 5.x, with another rotary base than 10000, or with scaling",
    wrong="the model is computed with a rotary base of 10000 and without its scaling",
)


@TRIGGER.in_files
def is_left_over(run: Files) -> Optional[bool]:
    """Both names in one configuration, with different values: one from the file, the other a default."""
    if not run.config:
        return None
    said = run.setting("rope_parameters")
    if said is None:
        return False
    base = said.get("rope_theta") if isinstance(said, dict) else None
    read = run.setting("rope_theta")
    return True if base is not None and read is not None and base != read else None
