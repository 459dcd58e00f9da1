"""A Llama and a BERT with label smoothing: four micro-batches of one text, and one batch of all four."""

from functools import partial

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._counted import padded_ways, whole_texts
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import classified, small_bert, small_llama
from hotfix.training.label_smoothing_by_micro_batch import FIX

# Others of the micro-batches: wrong by a factor of four, or by a label that is never predicted.
_OTHERS = ("trainer-ga-multiplied-loss", "trainer-ga-num-items-dropped", "num-items-off-by-one")


@FIX.case(
    packages=LATER_PACKAGES,
    with_fixes=_OTHERS,
    oracles={"*": "5.15.0"},  # 5.2.0 to 5.5.3 average the means of the micro-batches, however many labels these have
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step, both ways, of both models."""
    results = padded_ways(partial(small_llama, testbed), whole_texts(testbed), label_smoothing_factor=0.1)
    of_classes = padded_ways(partial(small_bert, testbed), classified(testbed), label_smoothing_factor=0.1)
    return {**results, **{f"of an encoder: {name}": value for name, value in of_classes.items()}}
