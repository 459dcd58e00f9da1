"""The proof: a beam search of a program's own, over a tiny Llama."""

import torch

from hotfix.names.reorder_cache_not_implemented import FIX
from hotfix.proofs.names.reorder_cache_removed import searched
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="NotImplementedError: Make sure that a `_reorder_cache`",
    oracles={"*": "4.42.4"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A step of the search."""
    return searched(testbed)
