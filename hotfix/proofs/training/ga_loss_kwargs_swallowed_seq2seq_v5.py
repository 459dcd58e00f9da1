"""A tiny model of the target's class: four micro-batches of one sample, and one batch of four."""

from functools import partial

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES, compared
from hotfix.proofs.zoo import class_of, samples_for, trained
from hotfix.training.ga_loss_kwargs_swallowed_seq2seq_v5 import FIX


@FIX.case(packages=LATER_PACKAGES, oracles={"*": "4.57.6"}, tolerance={"float64": 1e-4})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of the micro-batches, as multiples of those of the batch."""
    return compared(partial(trained, testbed, class_of(target)), samples_for(testbed, class_of(target)))
