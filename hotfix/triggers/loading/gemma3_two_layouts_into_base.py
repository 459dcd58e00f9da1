"""Not observable in the arguments: the function reads the names of the weights itself."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "gemma3-two-layouts-into-base",
    why_not="It depends on the names in the files of the weights; see `hotfix check-model`.",
)
