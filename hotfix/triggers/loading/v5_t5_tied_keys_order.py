"""A model is built before the weights, which decide: only files without ``shared.weight`` are affected."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-t5-tied-keys-order",
    why_not="Whether the file has `shared.weight` shows after the model was made.",
)
