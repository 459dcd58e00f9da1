"""A BERT classifier: four micro-batches of one sample, and one batch of four."""

from functools import partial

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import PACKAGES, both_ways
from hotfix.proofs.zoo import classified, small_bert
from hotfix.training.trainer_ga_multiplied_loss import FIX


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step, both ways."""
    return both_ways(partial(small_bert, testbed), classified(testbed))
