"""A BERT classifier: four micro-batches of one sample, and one batch of four."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hotfix.proofs.training._steps import PACKAGES, both_ways
from hotfix.proofs.zoo import classified, small_bert
from hotfix.training.trainer_ga_multiplied_loss import FIX

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step, both ways."""
    return both_ways(partial(small_bert, testbed), classified(testbed))
