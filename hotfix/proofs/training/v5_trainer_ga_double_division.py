"""A Llama: four micro-batches of one text with 2, 5, 7 and 8 labels, and one batch of all four."""

from functools import partial

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES, both_ways
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.v5_trainer_ga_double_division import FIX


@FIX.case(packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step, both ways."""
    return both_ways(partial(small_llama, testbed), texts(testbed))
