"""A Trainer with a method of its own that makes optimizer and scheduler."""

from __future__ import annotations

from hotfix.training.trainer_own_optimizer_ignored import is_ignored
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "trainer-own-optimizer-ignored",
    when="a subclass of the Trainer overrides create_optimizer_and_scheduler",
    wrong="it is not called, and the run has the default optimizer and schedule",
)


@TRIGGER.strikes()
def has_an_override(call: Call) -> bool:
    """The class shows it."""
    return is_ignored(call.owner)
