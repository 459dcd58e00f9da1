"""A Trainer with a method of its own that deletes old checkpoints."""

from __future__ import annotations

from hotfix.training.trainer_own_rotation_ignored import is_ignored
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "trainer-own-rotation-ignored",
    when="a subclass of the Trainer overrides _rotate_checkpoints, and checkpoints are limited",
    wrong="it is not called, and checkpoints that it would keep are deleted",
)


@TRIGGER.strikes()
def has_an_override(call: Call) -> bool:
    """Without a limit the library deletes nothing, and an override of the library's form neither."""
    return is_ignored(call.owner) and bool(call.owner.args.save_total_limit)
