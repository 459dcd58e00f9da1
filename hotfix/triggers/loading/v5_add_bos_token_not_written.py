"""Not observable in a call: the settings are translated between two statements."""

from __future__ import annotations

from hotfix.trigger import Trigger

TRIGGER = Trigger(
    "v5-add-bos-token-not-written",
    why_not="It depends on the template in tokenizer.json, of which `hotfix check-model` tells.",
)
