"""The proof: a step without clipping."""

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.max_grad_norm_none import FIX


@FIX.case(
    raises="TypeError: '>' not supported between instances of 'NoneType' and 'int'",
    packages=LATER_PACKAGES,
    oracles={"transformers.trainer:Trainer._run_epoch": "5.2.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights after a step with a large rate."""
    model = small_llama(testbed)
    one_step(model, texts(testbed), max_grad_norm=None, learning_rate=0.5, optim="sgd")
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}
