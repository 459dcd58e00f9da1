"""What the triggers share that are about a model which swallows the number of labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hotfix.fix import Target
from hotfix.training import _swallowed


def model_of(trainer: Any) -> Any:
    """The model of a Trainer, below what Accelerate, PEFT and torch.compile have put around it."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    model = model.get_base_model() if hasattr(model, "get_base_model") else model
    return getattr(model, "_orig_mod", model)


def is_number_used(trainer: Any, number: Any) -> bool:
    """Whether the loss of a step depends on the number of labels that the Trainer has counted."""
    if number is None:
        return False
    if trainer.compute_loss_func is not None:
        return True
    kind: Any = type(model_of(trainer))
    return bool(trainer.model_accepts_loss_kwargs) and not _swallowed._class_swallows(kind)


def is_left_undivided(trainer: Any, number: Any, targets: Iterable[Target]) -> bool:
    """Whether the model of a Trainer is one of the classes of a fix, and nobody divides its loss.

    Args:
        trainer: a Trainer.
        number: of labels in a step, or None.
        targets: those of the fix: constructors.
    """
    kind = type(model_of(trainer))
    place = f"{kind.__module__}:{kind.__qualname__}.__init__"
    return any(str(one) == place for one in targets) and _swallowed.divisor(trainer, number) > 1
