"""The Trainer divides the loss of a micro-batch by the number of micro-batches, and Accelerate divides it again.

Symptom   Silent. With ``gradient_accumulation_steps=N`` all gradients are N times too small, of every model and every
          loss function: plain SGD learns N times slower, ``max_grad_norm`` clips N times too late, and the reported
          ``grad_norm`` is N times too small. The reported loss is right.
Cause     The Trainer normalises the loss over the whole step before the backward pass. Since 5.2.0 it also tells
          Accelerate the number of micro-batches, and `Accelerator.backward` divides by the number that it was told.
Releases  5.2.0 to 5.5.3
Upstream  transformers#45305, transformers#45349 (fixed in 5.5.4)
Here      Accelerate is told that there is one micro-batch, whether the number comes from the training arguments or
          from ``accelerator_config``, whose dictionary is left alone. Bitwise equal to 5.5.4, with one exception: a
          model that takes the number of labels and ignores it (ga-loss-kwargs-swallowed-vlm) is divided by Accelerate
          alone, so its gradients are right in these releases; in 5.5.4 they are N times too large. They stay as they
          are. A ``compute_loss`` of one's own that ignores the number is as in 5.5.4: its Trainer has to set
          ``model_accepts_loss_kwargs = False``.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.training import _swallowed
from hotfix.training._steps import both_ways, small_llama, texts

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="v5-trainer-ga-double-division",
    title="Gradients are gradient_accumulation_steps times too small: Trainer and Accelerate both divide the loss",
    kind="silent",
    upstream=("transformers#45305", "transformers#45349"),
    fixed_in="5.5.4",
    prefilter="GradientAccumulationPlugin(",
)

_CREATE, _STEP = "Trainer.create_accelerator_and_postprocess", "Trainer.training_step"
_RELEASES = ">=5.2.0,<=5.5.3"
_TOLD = "grad_acc_kwargs['num_steps'] = self.args.gradient_accumulation_steps"
_DIVISION = "loss = loss / self.current_gradient_accumulation_steps"
_BACKWARD = "self.accelerator.backward(loss, **kwargs)"

# Accelerate may divide where the Trainer does not, as up to 4.46.0: both definitions are judged.
_JUDGED = (_CREATE, _STEP)


@FIX.edits((f"transformers.trainer:{_CREATE}", _RELEASES), fingerprint_of=_JUDGED)
def one_micro_batch_for_accelerate(node: ast.AST) -> Optional[ast.expr]:
    """Where Accelerate is told how it accumulates, tell it that there is one micro-batch."""
    if not isinstance(node, ast.Call) or ast.unparse(node) != "GradientAccumulationPlugin(**grad_acc_kwargs)":
        return None
    [plugin] = code.statements("GradientAccumulationPlugin(**{**grad_acc_kwargs, 'num_steps': 1})", at=node)
    assert isinstance(plugin, ast.Expr)
    return plugin.value


@FIX.edits((f"transformers.trainer:{_STEP}", _RELEASES), fingerprint_of=_JUDGED)
def divided_where_nobody_else_does(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Divide what goes into the backward pass where Accelerate was the only one who did."""
    if not isinstance(node, ast.Expr) or ast.unparse(node) != _BACKWARD:
        return None
    return code.statements(
        f"""\
from {_swallowed.__name__} import divisor
self.accelerator.backward(loss / divisor(self, num_items_in_batch), **kwargs)
""",
        at=node,
    )


@FIX.recognises
def is_broken(create: ast.FunctionDef, step: ast.FunctionDef) -> bool:
    """Accelerate is told the number of micro-batches, and the Trainer divides by it."""
    tells, divides = (
        any(isinstance(node, ast.Assign) and ast.unparse(node) == text for node in ast.walk(function))
        for function, text in ((create, _TOLD), (step, _DIVISION))
    )
    return tells and divides


@FIX.case(packages={"accelerate": "1.15.0", "flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama: four micro-batches of one text with 2, 5, 7 and 8 labels, and one batch of all four."""
    return both_ways(partial(small_llama, testbed), texts(testbed))
