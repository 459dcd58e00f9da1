"""The Trainer divides the loss of a micro-batch by the number of micro-batches, and Accelerate divides it again.

Symptom   Silent. With ``gradient_accumulation_steps=N`` all gradients are N times too small, of every model and every
          loss function: plain SGD learns N times slower, ``max_grad_norm`` clips N times too late, and the reported
          ``grad_norm`` is N times too small. The reported loss is right.
Cause     The Trainer normalises the loss over the whole step before the backward pass. Since 5.2.0 it also tells
          Accelerate the number of micro-batches, and `Accelerator.backward` divides by the number that it was told.
Releases  5.2.0 to 5.5.3
Upstream  transformers#45305, transformers#45349 (fixed in 5.5.4)
Here      Accelerate is told that there is one micro-batch, whether the number comes from the training arguments or
          from ``accelerator_config``, whose dictionary is left alone. Bitwise equal to 5.5.4.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Optional

from hotfix import surgery
from hotfix.registry import Fix, Trial
from hotfix.training._steps import both_ways, small_llama, texts

if TYPE_CHECKING:
    import torch

    from hotfix.bed import Bed
    from hotfix.registry import Target


FIX = Fix(
    id="v5-trainer-ga-double-division",
    title="Gradients are gradient_accumulation_steps times too small: Trainer and Accelerate both divide the loss",
    kind="silent",
    upstream=("transformers#45305", "transformers#45349"),
    fixed_in="5.5.4",
    needle="GradientAccumulationPlugin(",
    trial=Trial(packages={"accelerate": "1.15.0", "flash-attn": None}),
)

_CREATE = "Trainer.create_accelerator_and_postprocess"
_PLUGIN = "GradientAccumulationPlugin(**grad_acc_kwargs)"
_TOLD = "grad_acc_kwargs['num_steps'] = self.args.gradient_accumulation_steps"
_DIVISION = "loss = loss / self.current_gradient_accumulation_steps"


# Accelerate may divide where the Trainer does not, as up to 4.46.0: both definitions are judged.
@FIX.edits((f"transformers.trainer:{_CREATE}", ">=5.2.0,<=5.5.3"), judged=(_CREATE, "Trainer.training_step"))
def one_micro_batch_for_accelerate(node: ast.AST) -> Optional[ast.expr]:
    """Where Accelerate is told how it accumulates, tell it that there is one micro-batch."""
    if not isinstance(node, ast.Call) or ast.unparse(node) != _PLUGIN:
        return None
    [plugin] = surgery.statements("GradientAccumulationPlugin(**{**grad_acc_kwargs, 'num_steps': 1})", at=node)
    assert isinstance(plugin, ast.Expr)
    return plugin.value


@FIX.recognises
def is_broken(create: ast.FunctionDef, step: ast.FunctionDef) -> bool:
    """Accelerate is told the number of micro-batches, and the Trainer divides by it."""
    tells, divides = (
        any(isinstance(node, ast.Assign) and ast.unparse(node) == text for node in ast.walk(function))
        for function, text in ((create, _TOLD), (step, _DIVISION))
    )
    return tells and divides


@FIX.case
def case(bed: Bed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama: four micro-batches of one text with 2, 5, 7 and 8 labels, and one batch of all four."""
    return both_ways(partial(small_llama, bed), texts(bed))
