"""The proof: a copy of `generate` looks for its end tokens."""

import torch

from hotfix.neighbours.v5_small_names_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'isin_mps_friendly'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask for two, and for one."""
    isin = ask(target)
    ids, ends = testbed.randint(0, 8, 3, 5), torch.tensor([2, 5], device=testbed.device)
    return {"several": isin(ids, ends), "one": isin(ids, 3)}
