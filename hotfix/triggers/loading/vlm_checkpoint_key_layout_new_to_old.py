"""Weights of a vision-language model under the names of a later release."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Files, Trigger

TRIGGER = Trigger(
    "vlm-checkpoint-key-layout-new-to-old",
    when="what was loaded are weights of a model of text and pictures that a later release has saved",
    wrong="weights are not found under their names, and are initialized at random",
)


@TRIGGER.in_files
def has_parts(run: Files) -> Optional[bool]:
    """A model of text and pictures has configurations for its parts."""
    has_parts = any(name.endswith("_config") and isinstance(part, dict) for name, part in run.config.items())
    return None if has_parts or not run.config else False
