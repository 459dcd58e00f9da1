"""A model is made before the weights are looked at, and they decide: those that lack ``shared.weight`` are harmed."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-t5-tied-keys-order",
    why_not="Whether the file has `shared.weight` shows after the model was made.",
)
