"""Outputs that are asked of a model whose class was replaced after it was made."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "outputs-of-a-replaced-class",
    why_not="Each forward runs in a wrapper that a decorator has made, whose calls are not observed.",
)
