"""An override of ``create_optimizer_and_scheduler`` is no longer called.

Symptom   Silent. Since 5.1.0 a Trainer whose subclass makes the optimizer and the scheduler in this method trains with
          AdamW and a linear schedule instead: other learning rates, and layers trained that were to stay as they are.
Cause     The Trainer calls ``create_optimizer`` and ``create_scheduler`` by themselves. The documentation still names
          the method as one to override.
Releases  5.1.0 and later
Upstream  not repaired
Here      The override is called in the place of ``create_optimizer``, as in 5.0.0; what it does not set, the release
          makes. If it raises an error of another release (an attribute that is gone), the release makes both. The
          author may have moved on: a Trainer that has an optimizer or a scheduler already is left alone, and so is a
          class that calls the method elsewhere, or that overrides one of the other two and does not call it from
          there. Also left alone is FSDP 1 from 5.3.0 on, which makes the optimizer later.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.training import _old_overrides

_TRAINER = "transformers.trainer:Trainer"
_NAME = "create_optimizer_and_scheduler"

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


def is_ignored(trainer: Any) -> bool:
    """Whether a Trainer has an override that makes optimizer and scheduler and that the release does not call."""
    if trainer.optimizer is not None or trainer.lr_scheduler is not None:
        return False
    whole = _old_overrides.method_of(trainer, _NAME)
    if not _old_overrides.is_override(whole) or not _old_overrides.takes(whole, name="num_training_steps"):
        return False
    parts = [name for name in ("create_optimizer", "create_scheduler") if _is_own(trainer, name)]
    return _old_overrides.names_in(whole).issuperset(parts) and not _old_overrides.is_used_otherwise(trainer, _NAME)


def _is_own(trainer: Any, name: str) -> bool:
    return _old_overrides.is_override(_old_overrides.method_of(trainer, name))


def create_both(trainer: Any, steps: int) -> None:
    """Call the override, and have the release make the optimizer if the override has not.

    Args:
        trainer: the Trainer.
        steps: of the training.
    """
    if not _old_overrides.revived(FIX.id, trainer, _NAME, num_training_steps=steps):
        trainer.optimizer = trainer.lr_scheduler = None
    if trainer.optimizer is None:
        trainer.create_optimizer()
