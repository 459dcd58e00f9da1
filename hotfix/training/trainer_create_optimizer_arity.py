"""Overrides of ``create_optimizer`` that were written before 5.3 are called with the model under FSDP.

Symptom   ``TypeError: CustomTrainer.create_optimizer() takes 1 positional argument but 2 were given`` when training
          starts with FSDP: LLaMA-Factory, and other trainers that make groups of parameters.
Cause     Under FSDP the Trainer passes the model that it has prepared, where it had put it into ``self.model``.
Releases  5.3.0 and later
Upstream  the argument was added in 5.3.0
Here      An override that takes no model is called without, and finds the prepared one in ``self.model``, as in 5.2.0.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.training import _old_overrides

FIX = Fix(
    title="TypeError: CustomTrainer.create_optimizer() takes 1 positional argument but 2 were given",
    kind="training",
    group="removed-names",
    errors=("TypeError: ….create_optimizer() takes 1 positional argument but 2 were given",),
    when=f"""
from {_old_overrides.__name__} import ends, lacks
lacks(self, "create_optimizer", 1) and ends("trainer-create-optimizer-arity")
""",
)

FIX.edits(
    ("transformers.trainer:Trainer._prepare_for_training", ">=5.3.0"),
    old="self.create_optimizer(model)",
    new=f"""
        from {__name__} import create_for
        create_for(self, model)
    """,
)


def create_for(trainer: Any, model: Any) -> None:
    """Call the override while the Trainer has this model."""
    own, trainer.model = trainer.model, model
    try:
        trainer.create_optimizer()
    finally:
        trainer.model = own
