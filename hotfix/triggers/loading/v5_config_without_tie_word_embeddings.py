"""A configuration is built before the weights, which decide: files of 4.x have no separate head."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-config-without-tie-word-embeddings",
    why_not="Whether the file has a head of its own shows after the configuration was made.",
)
