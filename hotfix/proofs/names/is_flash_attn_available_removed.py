"""The proof: remote code asks for the function."""

import torch

from hotfix.names.is_flash_attn_available_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '", oracles={"*": "4.38.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the function, and call it."""
    restored = ask(target)
    return {"answer": torch.tensor(restored()), "pickled": same_when_pickled(restored)}
