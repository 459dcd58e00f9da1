"""A configuration is made before the weights are looked at, and they decide: those of 4.x have no head of their own."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-config-without-tie-word-embeddings",
    why_not="Whether the file has a head of its own shows after the configuration was made.",
)
