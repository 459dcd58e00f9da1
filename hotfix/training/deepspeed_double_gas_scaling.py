"""Under DeepSpeed a loss that is normalized over the whole step is divided once more by the number of micro-batches.

Symptom   Silent. With DeepSpeed and ``gradient_accumulation_steps=N`` gradients are N times too small: of models that
          take the number of labels from the Trainer (4.46.2, 4.46.3, 4.47.1), of models that do not (4.48.0), of all
          (4.48.1 to 4.48.3). The reported loss is right.
Cause     DeepSpeed's engine divides every loss by N in its backward pass, also a loss that the Trainer or the model has
          normalized over all micro-batches of the step.
Releases  4.46.2 to 4.48.3, less 4.47.0, which keeps the number back from the models: their mean is divided once.
Upstream  transformers#35808 (fixed in 4.49.0)
Here      The engine gets ``scale_wrt_gas=False`` if the loss was divided by the number of labels in the step or
          by that of the micro-batches, by the model, the Trainer or the user. Gradients are equal to those of
          4.49.0 where all losses are (4.48.1 to 4.48.3), and elsewhere where this loss is. A
          mean that nobody has divided (label smoothing, an overridden ``compute_loss``) is left to the engine, whose
          one division is right for it.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix

FIX = Fix(
    title="Gradients are gradient_accumulation_steps times too small under DeepSpeed",
    kind="silent",
    needs={"deepspeed": ">0"},
    upstream=("transformers#35808",),
    fixed_in="4.49.0",
    order=1,  # after trainer-ga-multiplied-loss, which rewrites the statements around the backward pass
    prefilter="self.accelerator.backward(",
    everyone="only where the loss is seen to be normalized over the step: the new code tests it itself",
)

_NUMBER_OF_BATCHES = "self.args.gradient_accumulation_steps"

# The statements before and after the backward pass, and whether the Trainer has divided the loss before it.
_FORMS = (
    ("", f"if num_items_in_batch is None: return loss.detach() / {_NUMBER_OF_BATCHES}", "False"),
    ("", "return share.detach()", "False"),  # as repaired by trainer-ga-multiplied-loss
    (f"if num_items_in_batch is None: loss = loss / {_NUMBER_OF_BATCHES}", "", "num_items_in_batch is None"),
    (
        f"if not self.model_accepts_loss_kwargs and self.compute_loss_func is None: loss = loss / {_NUMBER_OF_BATCHES}",
        "",
        "not self.model_accepts_loss_kwargs and self.compute_loss_func is None",
    ),
)
_BACKWARD = "self.accelerator.backward(loss, **kwargs)"
_SCALED = """\
if self.accelerator.distributed_type == DistributedType.DEEPSPEED:
    import hotfix.training._loss_path as _loss_path
    if _loss_path.is_normalised('deepspeed-double-gas-scaling', self, loss, num_items_in_batch, {is_divided}):
        kwargs['scale_wrt_gas'] = False
"""

FIX.edits(
    ("transformers.trainer:Trainer.training_step", ">=4.46.2,<=4.48.3,!=4.47.0"),
    alternatives=True,
    old=[f"{before}\n{_BACKWARD}\n{behind}" for before, behind, _ in _FORMS],
    new=[
        f"{before}\n{_SCALED.format(is_divided=is_divided)}{_BACKWARD}\n{behind}"
        for before, behind, is_divided in _FORMS
    ],
)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """Something is normalized over the step; not so in 4.47.0, which keeps the number back and divides a mean."""
    text = ast.unparse(function)
    keeps_back = "loss = self.compute_loss(model, inputs)\n" in text
    divides_the_report = "return loss.detach() / " in text
    return FIX.targets[0].implementation.occurs_in(function) and not (keeps_back and divides_the_report)
