"""A Llama and whole texts of ten, four, seven and two tokens: four micro-batches, and one batch of all four."""

from functools import partial

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._counted import padded_ways, whole_texts
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import small_llama
from hotfix.training.trainer_ga_num_items_dropped import FIX


# These releases, and the first that are right again, count the first label of each text.
@FIX.case(packages=LATER_PACKAGES, with_fixes=("num-items-off-by-one",), oracles={"*": "5.10.1"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step, both ways."""
    return padded_ways(partial(small_llama, testbed), whole_texts(testbed))
