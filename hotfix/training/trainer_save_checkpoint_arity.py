"""Overrides of ``_save_checkpoint`` that were written for 4.47 or later are called with metrics.

Symptom   ``TypeError: MyTrainer._save_checkpoint() got an unexpected keyword argument 'metrics'`` at the first
          checkpoint.
Cause     The Trainer passes the metrics of the last evaluation, with which ``Trainer._save_checkpoint`` looks for
          the best checkpoint. Since 4.47.0 it does so before it calls the method.
Releases  to 4.46.3
Upstream  the argument was removed in 4.47.0
Here      The override is called without metrics, and ``Trainer._save_checkpoint`` gets them where the override calls
          it. An override that never calls it raises as before, unless there are no metrics.
"""

from __future__ import annotations

from typing import Any, Callable
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.training import _old_overrides

_TRAINER = "transformers.trainer:Trainer"

FIX = Fix(
    title="TypeError: MyTrainer._save_checkpoint() got an unexpected keyword argument 'metrics'",
    kind="training",
    group="removed-names",
    fixed_in="4.47.0",
    errors=("TypeError: …_save_checkpoint() got an unexpected keyword argument 'metrics'",),
    everyone="only where an override takes no metrics; Trainer._save_checkpoint looks whether it was called by one",
)

FIX.edits(
    (f"{_TRAINER}._maybe_log_save_evaluate", "<=4.46.3"),
    old="self._save_checkpoint(model, trial, metrics=metrics)",
    new=f"""
        from {__name__} import save
        save(self, model, trial, metrics)
    """,
    when=f"from {__name__} import is_without_metrics; is_without_metrics(self)",
)

_kept: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The metrics of each Trainer whose override is running."""


@FIX.accompanies(f"{_TRAINER}._save_checkpoint")
def with_the_metrics(original: Callable[..., Any]) -> Callable[..., Any]:
    """Save with the metrics that the override was not given."""

    def _save_checkpoint(self: Any, model: Any, trial: Any, metrics: Any = None) -> Any:
        if metrics is None and _kept:
            metrics = _kept.get(self)
        return original(self, model, trial, metrics=metrics)

    return _save_checkpoint


def is_without_metrics(trainer: Any) -> bool:
    """Whether the ``_save_checkpoint`` of a Trainer is an override that takes no metrics, and the program would end."""
    method = _old_overrides.method_of(trainer, "_save_checkpoint")
    return (
        _old_overrides.is_override(method)
        and not _old_overrides.takes(method, name="metrics")
        and _old_overrides.takes(method, positional=2)
        and not scope.is_handled_around(FIX.id, TypeError)
    )


def save(trainer: Any, model: Any, trial: Any, metrics: Any) -> None:
    """Call the override; without metrics, if it calls the method of the library or there are none.

    Args:
        trainer: the Trainer.
        model: the model.
        trial: of a search for hyperparameters, or None.
        metrics: of the last evaluation, or None.
    """
    method = trainer._save_checkpoint
    if metrics is not None and "_save_checkpoint" not in getattr(getattr(method, "__code__", None), "co_names", ()):
        method(model, trial, metrics=metrics)
        return
    _kept[trainer] = metrics
    try:
        method(model, trial)
    finally:
        del _kept[trainer]
