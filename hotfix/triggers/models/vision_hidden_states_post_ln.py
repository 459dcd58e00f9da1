"""Somebody asks for the hidden states."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "vision-hidden-states-post-ln",
    when="the hidden states of a vision tower are asked for",
    wrong="the last of them is the normed output, not what the last layer gives",
)


@TRIGGER.strikes()
def asks_for_hidden_states(call: Call) -> bool:
    """By argument, or by configuration."""
    asked = call.get("output_hidden_states")
    return bool(getattr(call.owner.config, "output_hidden_states", False) if asked is None else asked)


@TRIGGER.in_files
def is_configured(run: Files) -> Optional[bool]:
    """By configuration; files do not tell of arguments."""
    asked = run.setting("output_hidden_states")
    return True if asked is True else None
