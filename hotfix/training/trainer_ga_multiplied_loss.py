"""The Trainer adds up micro-batches instead of averaging them, for models that do not normalise their loss themselves.

Symptom   Silent. With ``gradient_accumulation_steps=N`` the gradients of every model whose forward takes no loss
          arguments (encoders, vision-language models, nets of one's own) are N times too large: the learning rate is,
          in effect. The reported loss looks right in 4.46.2 to 4.47.0 and is N times too large in 4.46.1 and 4.47.1.
Cause     Since 4.46 the Trainer divides by the number of labels in all micro-batches of a step, through the model or
          ``compute_loss_func``, and no longer by the number of micro-batches. Where neither is told that number, the
          loss is a mean over one micro-batch and nobody divides: 4.46.1 cancels Accelerate's division by multiplying,
          later releases have it switched off and divide, if at all, only what they report.
Releases  4.46.1 to 4.47.1. 4.46.0 has been withdrawn from the package index.
Upstream  transformers#34191, transformers#34263, transformers#35203; transformers#35207 (fixed in 4.48.0)
Here      A loss that is a mean over one micro-batch is divided by the number of micro-batches before the backward pass,
          unless Accelerate or DeepSpeed does so by itself; the same quotient is reported. Bitwise equal to 4.48.0.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.training._steps import PACKAGES, both_ways, small_bert

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="trainer-ga-multiplied-loss",
    title="Gradients are gradient_accumulation_steps times too large for models that take no loss arguments",
    kind="silent",
    upstream=("transformers#34191", "transformers#34263", "transformers#35203", "transformers#35207"),
    fixed_in="4.48.0",
    prefilter="self.accelerator.backward(",
)

# The loss is a mean over its own micro-batch, since nobody was told how many labels there are in the whole step.
_IS_MEAN = "num_items_in_batch is None or not (self.model_accepts_loss_kwargs or self.compute_loss_func is not None)"
# DeepSpeed's engine divides in its own backward pass; so does Accelerate, if its launcher was told the number.
IS_DIVIDED_LATER = (
    "self.accelerator.distributed_type == DistributedType.DEEPSPEED or self.accelerator.gradient_accumulation_steps > 1"
)
_MULTIPLICATION = "loss *= self.args.gradient_accumulation_steps"
_DIVIDE = f"""\
share = loss / self.args.gradient_accumulation_steps if {_IS_MEAN} else loss
loss = loss if {IS_DIVIDED_LATER} else share
"""


@FIX.edits(("transformers.trainer:Trainer.training_step", ">=4.46.1,<=4.47.1"))
def divided_before_backward(node: ast.AST) -> Optional[ast.stmt]:
    """Divide a mean, and only a mean, by the number of micro-batches.

    In 4.46.1 the multiplication that cancels Accelerate's division becomes conditional. In later releases the branch
    that runs the backward pass, and then divides what it reports, divides first and reports the quotient.
    """
    if isinstance(node, ast.AugAssign) and ast.unparse(node) == _MULTIPLICATION:
        [conditional] = code.statements(f"if not ({_IS_MEAN}): pass", at=node)
        assert isinstance(conditional, ast.If)
        return ast.If(test=conditional.test, body=[node], orelse=[])
    if isinstance(node, ast.If) and _divides_only_the_report(node.orelse):
        backward = node.orelse[0]
        before, after = (
            code.statements(_DIVIDE, at=backward),
            code.statements("return share.detach()", at=backward),
        )
        return ast.If(test=node.test, body=node.body, orelse=[*before, backward, *after])
    return None


def _divides_only_the_report(branch: list[ast.stmt]) -> bool:
    """Whether a branch is a backward pass, a division of what is returned if there is no number, and a return."""
    text = [ast.unparse(statement) for statement in branch]
    return (
        len(text) == 3
        and text[0] == "self.accelerator.backward(loss, **kwargs)"
        and text[1].split() == _REPORT.split()
        and text[2] == "return loss.detach()"
    )


_REPORT = "if num_items_in_batch is None: return loss.detach() / self.args.gradient_accumulation_steps"


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The loss is multiplied before the backward pass, or divided after it."""
    return any(divided_before_backward(node) is not None for node in ast.walk(function))


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A BERT classifier: four micro-batches of one sample, and one batch of four."""
    ids, labels = testbed.randint(0, 32, 4, 9, seed=1).cpu(), testbed.randint(0, 3, 4, seed=2).cpu()
    return both_ways(
        partial(small_bert, testbed), [{"input_ids": one, "labels": label} for one, label in zip(ids, labels)]
    )
