"""Nothing that a call is given tells: the names of the weights are read in the middle of the function."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "gemma3-two-layouts-into-base",
    why_not="It depends on the names in the files of the weights, of which `hotfix check-model` tells.",
)
