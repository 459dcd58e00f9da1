"""An override of ``create_optimizer_and_scheduler`` is no longer called.

Symptom   Silent. Since 5.1.0 a Trainer whose subclass makes the optimizer and the scheduler in this method trains with
          AdamW and a linear schedule instead: other learning rates, and layers trained that were to stay as they are.
Cause     The Trainer calls ``create_optimizer`` and ``create_scheduler`` by themselves. The documentation still names
          the method as one to override.
Releases  5.1.0 and later
Upstream  not repaired
Here      The override is called in the place of ``create_optimizer``, as in 5.0.0; what it does not set, the release
          makes. If it raises an error, the release makes both. The author may have moved on: a Trainer that has an
          optimizer or a scheduler already is left alone, and so is one that was given a class for it, and a class that
          calls the method elsewhere, or code of the program's that the method calls, or overrides one that the release
          calls. Also left alone is FSDP 1 from 5.3.0 on, which makes the optimizer later.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.training import _old_overrides

_TRAINER = "transformers.trainer:Trainer"
_NAME = "create_optimizer_and_scheduler"
_CALLED = ("create_optimizer", "create_scheduler", "get_optimizer_cls_and_kwargs", "get_decay_parameter_names")
"""What the release calls for the same purpose."""

FIX = Fix(
    title="A Trainer trains with the default optimizer: create_optimizer_and_scheduler of a subclass is not called",
    kind="silent",
    everyone="only where a subclass overrides the method, which no program does for another reason than its call",
    exempt={f"{_TRAINER}.{_NAME}": "it is the method itself"},
)

for _place, _releases, _count in (
    ("_inner_training_loop", ">=5.1.0,<5.3.0", 2),
    ("_prepare_for_training", ">=5.3.0", 1),
):
    FIX.edits(
        (f"{_TRAINER}.{_place}", _releases),
        old="self.create_optimizer()",
        new=f"""
            from {__name__} import create_both
            create_both(self, max_steps)
        """,
        count=_count,
        when=f"from {__name__} import is_ignored; is_ignored(self)",
    )


_NOTHING = object()
_made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The optimizer that the override of a Trainer has made: a second training makes another one."""


def is_ignored(trainer: Any) -> bool:
    """Whether a Trainer has an override that makes optimizer and scheduler and that the release does not call."""
    present = trainer.optimizer, trainer.lr_scheduler
    if present != (None, None) and _bare(trainer.optimizer) is not _made.get(trainer, _NOTHING):
        return False
    if trainer.optimizer_cls_and_kwargs is not None:
        return False
    whole = _old_overrides.method_of(trainer, _NAME)
    if not _old_overrides.is_override(whole) or not _old_overrides.takes(whole, name="num_training_steps"):
        return False
    return not any(_is_own(trainer, name) for name in _CALLED) and not _old_overrides.is_used_otherwise(
        FIX.id, trainer, _NAME
    )


def _is_own(trainer: Any, name: str) -> bool:
    return _old_overrides.is_override(_old_overrides.method_of(trainer, name))


def create_both(trainer: Any, steps: int) -> None:
    """Call the override, and have the release make the optimizer if the override has not.

    Args:
        trainer: the Trainer.
        steps: of the training.
    """
    if _old_overrides.revived(FIX.id, trainer, _NAME, num_training_steps=steps):
        _made[trainer] = _bare(trainer.optimizer)
    else:
        trainer.optimizer = trainer.lr_scheduler = None
    if trainer.optimizer is None:
        trainer.create_optimizer()


def _bare(optimizer: Any) -> Any:
    """The optimizer in the one that Accelerate puts around it."""
    return getattr(optimizer, "optimizer", optimizer)
