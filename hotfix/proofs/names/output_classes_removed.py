"""The proof: a file imports the class, and a forward returns one."""

import torch

from hotfix.names.output_classes_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its fields by name and by number, and what it leaves out."""
    logits = testbed.randn(2, 3, seed=1)
    made = ask(target)(logits=logits, rope_deltas=logits + 1)
    return {
        "by name": made.logits,
        "by key": made["rope_deltas"],
        "by number": made[1],
        "called": words(type(made).__name__, type(made).__module__, *made.keys()),
    }
