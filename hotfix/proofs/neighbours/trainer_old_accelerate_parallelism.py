"""The proof: a Llama is trained for a step, with an older Accelerate."""

import torch

from hotfix.neighbours.trainer_old_accelerate_parallelism import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._counted import padded_ways, whole_texts
from hotfix.proofs.zoo import small_llama


@FIX.case(
    raises="AttributeError: .*has no attribute 'parallelism_config'",
    packages={"accelerate": "1.9.0", "flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of a step, in micro-batches and in one batch."""
    return padded_ways(lambda: small_llama(testbed), whole_texts(testbed))
