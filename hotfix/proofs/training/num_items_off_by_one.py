"""A Llama and whole texts of ten, four, seven and two tokens: four micro-batches, and one batch of all four.

Nothing may change for an encoder, whose labels are not moved: a BERT with a loss function that divides by the number.
"""

from functools import partial
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._counted import padded_ways, whole_texts
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import classified, small_bert, small_llama
from hotfix.training.num_items_off_by_one import FIX

# Other bugs that the micro-batches meet in some releases: each is wrong by a factor of four.
_OTHERS = ("trainer-ga-multiplied-loss", "trainer-ga-num-items-dropped", "v5-trainer-ga-double-division")


@FIX.case(packages=LATER_PACKAGES, with_fixes=_OTHERS)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step, both ways, of both models."""
    results = padded_ways(partial(small_llama, testbed), whole_texts(testbed))
    unmoved = padded_ways(partial(small_bert, testbed), classified(testbed), loss_function=summed)
    return {**results, **{f"of an encoder: {name}": value for name, value in unmoved.items()}}


def summed(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    """A loss function of the user's, as the documentation of ``compute_loss_func`` wants it."""
    from torch.nn.functional import cross_entropy

    reduction = "mean" if num_items_in_batch is None else "sum"
    divisor = 1 if num_items_in_batch is None else num_items_in_batch
    return cross_entropy(outputs["logits"].float(), labels, reduction=reduction) / divisor
