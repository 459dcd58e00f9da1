"""The Trainer does not tell the models that normalise their loss how many labels a step has.

Symptom   Silent. With ``gradient_accumulation_steps=N`` loss and gradients of all causal language models, and of every
          other model whose forward takes ``**kwargs``, are about N times too large. They are N times too large where
          all micro-batches have equally many labels; where not, short ones weigh as much as long ones besides.
Cause     A condition is the wrong way round: ``num_items_in_batch`` goes to the models that cannot use it. The others,
          and ``compute_loss_func``, take the mean over the micro-batch, and the Trainer does not divide it, since the
          number of labels is known to it.
Releases  4.47.0 and 4.48.0. 4.47.1 was right, the change came back with the next minor release.
Upstream  transformers#35121 (fixed in 4.47.1), transformers#35651 (fixed in 4.48.1)
Here      The number goes to these models where the result depends on it: with several micro-batches, with
          ``average_tokens_across_devices`` and for ``compute_loss_func``. There it is equal to 4.47.1 and 4.48.1.
          Otherwise their mean is right, and exact. Under DeepSpeed, whose engine divides once more in these releases
          (deepspeed-double-gas-scaling), the mean gives the right gradients as well, and nothing is changed; nor is
          it for models composed of an encoder and a decoder, which hand the number to an encoder that refuses it.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.training._steps import PACKAGES, both_ways, small_llama
from hotfix.training.trainer_ga_multiplied_loss import IS_DIVIDED_LATER

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="trainer-ga-num-items-dropped",
    title="Loss and gradients are gradient_accumulation_steps times too large for models that take loss arguments",
    kind="silent",
    upstream=("transformers#35121", "transformers#35651"),
    fixed_in="4.47.1, 4.48.1",
    prefilter="self.compute_loss(model, inputs)",
)

_WITHOUT = "loss = self.compute_loss(model, inputs)"
_WITH = "loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)"

# When the number is kept from a model that takes it, as it always is in these releases.
_DEPENDS_ON_IT = (
    "self.args.gradient_accumulation_steps > 1 or self.args.average_tokens_across_devices "
    "or self.compute_loss_func is not None"
)
_IS_COMPOSED = "str(getattr(getattr(self.model, 'config', None), 'model_type', '')).endswith('encoder-decoder')"
_IS_KEPT_BACK = f"self.model_accepts_loss_kwargs and (not ({_DEPENDS_ON_IT}) or {IS_DIVIDED_LATER} or {_IS_COMPOSED})"


@FIX.edits(("transformers.trainer:Trainer.training_step", ">=4.47.0,<=4.48.0,!=4.47.1"))
def number_where_it_counts(node: ast.AST) -> Optional[ast.If]:
    """Narrow the condition under which the loss is computed without the number."""
    if not isinstance(node, ast.If) or ast.unparse(node.test) != "self.model_accepts_loss_kwargs":
        return None
    if [ast.unparse(one) for one in (*node.body, *node.orelse)] != [_WITHOUT, _WITH]:
        return None
    [narrowed] = code.statements(f"if {_IS_KEPT_BACK}: pass", at=node.test)
    assert isinstance(narrowed, ast.If)
    return ast.If(test=narrowed.test, body=node.body, orelse=node.orelse)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The loss is computed without the number where the model could use it, and with it where not."""
    return any(number_where_it_counts(node) is not None for node in ast.walk(function))


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama: four micro-batches of one text with 2, 5, 7 and 8 labels, and one batch of all four."""
    ids = testbed.randint(0, 32, 4, 9, seed=1).cpu()
    labels = ids.clone()
    for row, first in enumerate((7, 4, 2, 1)):
        labels[row, :first] = -100  # what comes first is no label in any release
    return both_ways(
        partial(small_llama, testbed), [{"input_ids": one, "labels": label} for one, label in zip(ids, labels)]
    )
