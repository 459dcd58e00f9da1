"""Overrides of ``_maybe_log_save_evaluate`` that were written for earlier releases are called with arguments more.

Symptom   ``TypeError: MyTrainer._maybe_log_save_evaluate() takes 7 positional arguments but 8 were given`` after the
          first step, from 4.51.0 on ``got an unexpected keyword argument 'learning_rate'``. Without the argument,
          ``missing 1 required positional argument: 'start_time'`` from an override that calls the library's method.
Cause     4.38.0 passes the norm of the gradients, 4.47.0 the time at which training began, 4.51.0 the learning rate.
Releases  4.47.0 and later
Upstream  the arguments were added in 4.38.0, 4.47.0 and 4.51.0
Here      An override is called as its release called it, and the library's method gets the rest where the override
          calls it.
"""

from __future__ import annotations

from typing import Any, Callable
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.training import _old_overrides

_TRAINER = "transformers.trainer:Trainer"
_NAME = "_maybe_log_save_evaluate"

FIX = Fix(
    title="TypeError: MyTrainer._maybe_log_save_evaluate() takes 7 positional arguments but 8 were given",
    kind="training",
    group="removed-names",
    errors=(
        "TypeError: …_maybe_log_save_evaluate() takes 6 positional arguments but 8 were given",
        "TypeError: …_maybe_log_save_evaluate() takes 7 positional arguments but 8 were given",
        "TypeError: …_maybe_log_save_evaluate() got an unexpected keyword argument 'learning_rate'",
        "TypeError: …_maybe_log_save_evaluate() missing 1 required positional argument: 'start_time'",
    ),
    everyone="only where an override takes fewer arguments; the library's method looks whether it was called by one",
)

_ALL = "__LOSS, __NORM, __MODEL, __TRIAL, __EPOCH, __KEYS, __START, **__REST"

FIX.edits(
    (f"{_TRAINER}._inner_training_loop", ">=4.47.0,<5.3.0"),
    (f"{_TRAINER}._run_epoch", ">=5.3.0"),
    old=f"self.{_NAME}({_ALL})",
    new=f"""
        from {__name__} import log
        log(self, {_ALL})
    """,
    count=2,
    when=f"from {__name__} import is_older; is_older(self)",
)

_kept: WeakKeyDictionary[Any, tuple[Any, dict[str, Any]]] = WeakKeyDictionary()
"""The norm of the gradients, and by name the time and the learning rate, for each Trainer whose override is running."""


@FIX.accompanies(f"{_TRAINER}.{_NAME}")
def with_the_rest(original: Callable[..., Any]) -> Callable[..., Any]:
    """Log with the arguments that the override was not given."""

    def _maybe_log_save_evaluate(self: Any, tr_loss: Any, *args: Any, **kwargs: Any) -> Any:
        kept = _kept.get(self) if _kept else None
        if kept is not None:
            norm, later = kept
            if len(args) + len(kwargs) == _OF_4_37 - 1 and "grad_norm" not in kwargs:
                args = (norm, *args)
            if len(args) < _OF_4_46 and "start_time" not in kwargs:
                kwargs = {**later, **kwargs}
        return original(self, tr_loss, *args, **kwargs)

    return _maybe_log_save_evaluate


_OF_4_37, _OF_4_46 = 5, 6
"""How many arguments the method takes in these releases. From 4.47.0 on it takes the time at which training began."""


def is_older(trainer: Any) -> bool:
    """Whether a Trainer has an override of an earlier release, and the program would end."""
    from transformers.trainer import Trainer

    given = _old_overrides.number_of_arguments(trainer, _NAME)
    takes_the_rate = _old_overrides.takes(getattr(Trainer, _NAME), name="learning_rate")
    passed = _old_overrides.number_of_parameters(getattr(Trainer, _NAME)) - takes_the_rate
    return (
        _OF_4_37 <= given <= _OF_4_46 + 1
        and not _old_overrides.takes(getattr(trainer, _NAME), passed, "learning_rate" if takes_the_rate else "")
        and _old_overrides.ends(FIX.id)
    )


def log(trainer: Any, loss: Any, norm: Any, *others: Any, **rate: Any) -> None:
    """Call the override.

    Args:
        trainer: the Trainer.
        loss: of the steps since it was last logged.
        norm: of the gradients.
        others: model, trial, epoch, keys, and the time at which training began.
        rate: the learning rate, from 4.51.0 on.
    """
    number = _old_overrides.number_of_arguments(trainer, _NAME)
    *others_of_4_37, start = others
    _kept[trainer] = norm, {"start_time": start, **rate}
    try:
        norms = () if number == _OF_4_37 else (norm,)
        getattr(trainer, _NAME)(loss, *norms, *others_of_4_37, *((start,) if number > _OF_4_46 else ()))
    finally:
        _kept.pop(trainer, None)
