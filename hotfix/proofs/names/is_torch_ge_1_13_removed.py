"""The proof: remote code asks for the flag."""

import torch

from hotfix.names.is_torch_ge_1_13_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the flag, and ask it."""
    restored = ask(target)
    assert isinstance(restored, bool), restored
    return {"answer": torch.tensor(restored)}
