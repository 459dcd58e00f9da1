"""Overrides of ``create_scheduler`` no longer get the optimizer.

Symptom   ``TypeError: MyTrainer.create_scheduler() missing 1 required positional argument: 'optimizer'``; where the
          argument has a default, the schedule is made for None, which has no ``param_groups``.
Cause     The Trainer calls the method with the number of steps alone.
Releases  5.1.0 and later
Upstream  axolotl#3435 (not repaired here)
Here      An override with a parameter ``optimizer`` gets it, as in 5.0.0, unless that has another default than None, or
          is tested: the override may mean something by it. The library's own method is called as in the release, and
          takes ``self.optimizer``.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.training import _old_overrides

_TRAINER = "transformers.trainer:Trainer"

FIX = Fix(
    title="TypeError: create_scheduler() missing 1 required positional argument: 'optimizer'",
    kind="training",
    group="removed-names",
    upstream=("axolotl#3435",),
    errors=("TypeError: ….create_scheduler() missing 1 required positional argument: 'optimizer'",),
    everyone="only where an override takes an optimizer; it is the one that the library's method takes",
)

for _place, _releases, _steps in (
    ("_inner_training_loop", ">=5.1.0,<5.3.0", "max_steps"),
    ("_prepare_for_training", ">=5.3.0", "max_steps"),
    ("create_optimizer_and_scheduler", ">=5.1.0", "num_training_steps"),
):
    FIX.edits(
        (f"{_TRAINER}.{_place}", _releases),
        old=f"self.create_scheduler(num_training_steps={_steps})",
        new=f"self.create_scheduler(num_training_steps={_steps}, optimizer=self.optimizer)",
        when=f"from {__name__} import takes_the_optimizer; takes_the_optimizer(self)",
    )


def takes_the_optimizer(trainer: Any) -> bool:
    """Whether the ``create_scheduler`` of a Trainer is an override that needs the optimizer."""
    method = _old_overrides.method_of(trainer, "create_scheduler")
    return _old_overrides.is_override(method) and _old_overrides.needs(method, "optimizer")
