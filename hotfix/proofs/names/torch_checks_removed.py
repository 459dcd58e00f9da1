"""The proof: code imports the checks and calls them, and goes through the table."""

import torch

from hotfix.names.torch_checks_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The answer of a check, or the entries of the table."""
    restored = ask(target)
    if callable(restored):
        answer = restored()
        assert isinstance(answer, bool), answer
        return {"answer": torch.tensor(answer)}
    pairs = sorted((name, function.__module__, function.__name__) for name, function in restored.items())
    return {"table": words(*(" ".join(pair) for pair in pairs))}
