"""The proof: the import, in the manner of FlagEmbedding, and a class that inherits from it."""

from typing import Any

import torch

from hotfix.names.flash_attention_classes_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its name and base classes, and that a subclass of it can be made and changed."""
    restored = ask(target)
    heir: Any = type("Heir", (restored,), {})
    heir.forward = lambda self: 3
    return {
        "pickled": same_when_pickled(restored),
        "inherits": words(*(cls.__name__ for cls in restored.__mro__ if "Attention" in cls.__name__)),
        "heir": torch.tensor([issubclass(heir, torch.nn.Module), heir.forward(None) == 3]),
        "called": words(restored.__name__, restored.__module__),
    }
