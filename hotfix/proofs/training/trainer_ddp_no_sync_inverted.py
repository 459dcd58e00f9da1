"""Two ranks, with one micro-batch each, and with two."""

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import PACKAGES, on_two_ranks, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_ddp_no_sync_inverted import FIX


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two ranks over gloo take a step on a Llama.

    Returns:
        ``MICRO-BATCHES, rank RANK: …`` as `_steps.one_step` names it; the gradients of the ranks should be equal.
    """
    samples = texts(testbed, (1, 1, 1, 1))

    def train(rank: int) -> dict[str, torch.Tensor]:
        results = {}
        for micro_batches in (1, 2):
            step = one_step(
                small_llama(testbed),
                samples[: 2 * micro_batches],
                gradient_accumulation_steps=micro_batches,
                ddp_backend="gloo",
            )
            results.update({f"{micro_batches}, rank {rank}: {name}": value for name, value in step.items()})
        return results

    return on_two_ranks(train)
