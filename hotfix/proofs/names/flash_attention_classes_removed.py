"""The proof: the import, in the manner of FlagEmbedding, and a class that inherits from it."""

from typing import Any

import torch

from hotfix.names.flash_attention_classes_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What it is called and inherits from, and that a class of one's own can be made of it and changed."""
    found = ask(target)
    heir: Any = type("Heir", (found,), {})
    heir.forward = lambda self: 3
    return {
        "pickled": same_when_pickled(found),
        "inherits": words(*(one.__name__ for one in found.__mro__ if "Attention" in one.__name__)),
        "heir": torch.tensor([issubclass(heir, torch.nn.Module), heir.forward(None) == 3]),
        "called": words(found.__name__, found.__module__),
    }
