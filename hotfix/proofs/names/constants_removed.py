"""The proof: a file imports the constant, as those do that began as a copy of the model's."""

import torch

from hotfix.names.constants_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its value."""
    return {"text": words(ask(target))}
