"""Shared by the triggers about models that swallow the number of labels."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from hotfix.fix import Fix, Target
from hotfix.training import _swallowed, num_items_off_by_one
from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files
from hotfix.triggers.training._trainer import micro_batches


def trigger(fix: Fix) -> Trigger:
    """The trigger of a fix whose targets are constructors of models that swallow the number of labels."""
    made = Trigger(
        fix.id,
        when="gradients are accumulated over more than one micro-batch, for a model of these classes",
        wrong="loss and gradients are too large by the number of accumulation steps",
        while_repaired=False,
    )

    @made.strikes("transformers.trainer:Trainer.training_step")
    def swallows(call: Call) -> bool:
        """A step of several micro-batches with one of the models that are broken."""
        return is_left_undivided(call.owner, call.get("num_items_in_batch"), fix.targets)

    @made.in_files
    def accumulated(run: Files) -> Optional[bool]:
        """Several micro-batches without DeepSpeed, and one of the classes."""
        if run.accumulation_steps == 1 or run.deepspeed or _files.is_other_class(run, fix):
            return False
        return True if run.by_trainer and run.accumulation_steps and _files.is_broken_class(run, fix) else None

    return made


@dataclass(frozen=True)
class Facts:
    """Facts that do not change from step to step.

    Attributes:
        kind: the class of the model, below what Accelerate, PEFT and torch.compile have put around it.
        swallows: whether it takes the number of labels, and does not divide its loss by it.
        is_encoder_decoder: whether it is one.
        moves_labels: whether its loss moves the labels by one.
    """

    kind: Any
    swallows: bool
    is_encoder_decoder: bool
    moves_labels: bool


_known: weakref.WeakKeyDictionary[Any, tuple[Any, Any, Facts]] = weakref.WeakKeyDictionary()


def facts(trainer: Any) -> Facts:
    """The facts about a Trainer and its model, found out once: unwrapping a model takes longer than a small layer."""
    model, function = trainer.model, trainer.compute_loss_func
    known = _known.get(trainer)
    if known is not None and known[0]() is model and known[1] is function:
        return known[2]
    inner = trainer.accelerator.unwrap_model(model)
    inner = inner.get_base_model() if hasattr(inner, "get_base_model") else inner
    inner = getattr(inner, "_orig_mod", inner)
    kind: Any = type(inner)
    of_both = bool(getattr(getattr(inner, "config", None), "is_encoder_decoder", False))
    moves = bool(num_items_off_by_one._moves_labels(trainer))
    answer = Facts(kind, _swallowed._class_swallows(kind), of_both, moves)
    _known[trainer] = weakref.ref(model), function, answer
    return answer


def is_number_used(trainer: Any, number: Any) -> bool:
    """Whether the loss of a step depends on the number of labels that the Trainer has counted."""
    if number is None:
        return False
    if trainer.compute_loss_func is not None:
        return True
    return bool(trainer.model_accepts_loss_kwargs) and not facts(trainer).swallows


def is_left_undivided(trainer: Any, number: Any, targets: Iterable[Target]) -> bool:
    """Whether the model of a Trainer is one of the classes of a fix, and nobody divides its loss.

    Args:
        trainer: a Trainer.
        number: of labels in a step, or None.
        targets: those of the fix: constructors.
    """
    if number is None or micro_batches(trainer) <= 1:
        return False
    kind = facts(trainer).kind
    place = f"{kind.__module__}:{kind.__qualname__}.__init__"
    return any(str(target) == place for target in targets) and _swallowed.divisor(trainer, number) > 1
