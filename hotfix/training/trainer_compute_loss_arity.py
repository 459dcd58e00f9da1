"""Overrides of ``compute_loss`` and ``training_step`` that were written before 4.46 are called with an argument more.

Symptom   ``TypeError: CustomTrainer.compute_loss() got an unexpected keyword argument 'num_items_in_batch'``, or
          ``TypeError: Trainer.training_step() takes 3 positional arguments but 4 were given``, in the first step.
Cause     The Trainer passes the number of labels in a step to both.
Releases  4.46.1 and later
Upstream  transformers#36331, transformers#36426, transformers#38666 (not repaired)
Here      An override is called by its own signature, in training and evaluation. Its loss is then a mean over the
          micro-batch: in its first step the Trainer learns that the model does not take the number, and divides by
          the micro-batches, as 4.45.2 did; gradients would be as many times too large otherwise. Around an override of
          ``training_step`` that calls the backward pass itself, Accelerate divides, as in 4.45.2. If it also calls the
          library's, which divides itself, it raises as before where there are several micro-batches a step. So does an
          old ``compute_loss`` together with a ``compute_loss_func``.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.training import _old_overrides

FIX = Fix(
    title="TypeError: compute_loss() got an unexpected keyword argument 'num_items_in_batch', of an override for 4.45",
    kind="training",
    upstream=("transformers#36331", "transformers#36426", "transformers#38666"),
    group="removed-names",
    errors=(
        "TypeError: ….compute_loss() got an unexpected keyword argument 'num_items_in_batch'",
        "TypeError: …Trainer….training_step() takes 3 positional arguments but 4 were given",
    ),
    order=10,
    prefilter="num_items_in_batch",
)

OLD_LOSS = f"from {_old_overrides.__name__} import ends, is_old_loss; is_old_loss(self) and ends({FIX.id!r})"
OLD_STEP = f"from {_old_overrides.__name__} import ends, is_old_step; is_old_step(self) and ends({FIX.id!r})"

FIX.edits(
    ("transformers.trainer:Trainer.training_step", ">=4.46.1"),
    old="loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)",
    new=f"""
        from {_old_overrides.__name__} import loss as loss_of
        loss = loss_of(self)(model, inputs, num_items_in_batch=num_items_in_batch)
    """,
    when=OLD_LOSS,
)
FIX.edits(
    ("transformers.trainer:Trainer._inner_training_loop", ">=4.46.1,<5.3.0"),
    ("transformers.trainer:Trainer._run_epoch", ">=5.3.0"),
    old="tr_loss_step = self.training_step(model, inputs, num_items_in_batch)",
    new=f"""
        from {_old_overrides.__name__} import step as step_of
        tr_loss_step = step_of(self)(model, inputs, num_items_in_batch)
    """,
    when=OLD_STEP,
)
FIX.edits(
    ("transformers.trainer:Trainer.prediction_step", ">=4.57.1"),
    old="loss, outputs = self.compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)",
    new=f"""
        from {_old_overrides.__name__} import loss as loss_of
        loss, outputs = loss_of(self)(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
    """,
    when=OLD_LOSS,
)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It passes the number on to a method of its own."""
    text = ast.unparse(function)
    return function.name in _METHODS and any(call in text for call in _CALLS)


_METHODS = ("training_step", "_inner_training_loop", "_run_epoch", "prediction_step")
_CALLS = (
    "self.compute_loss(model, inputs, num_items_in_batch=",
    "self.compute_loss(model, inputs, return_outputs=True, num_items_in_batch=",
    "self.training_step(model, inputs, num_items_in_batch)",
)
