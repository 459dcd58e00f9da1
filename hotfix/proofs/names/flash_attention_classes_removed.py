"""The proof: the import, in the manner of FlagEmbedding, and a class that inherits from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.names.flash_attention_classes_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What it is called and inherits from, and that a class of one's own can be made of it and changed."""
    import torch

    found = ask(target)
    heir: Any = type("Heir", (found,), {})
    heir.forward = lambda self: 3
    return {
        "pickled": same_when_pickled(found),
        "inherits": words(*(one.__name__ for one in found.__mro__ if "Attention" in one.__name__)),
        "heir": torch.tensor([issubclass(heir, torch.nn.Module), heir.forward(None) == 3]),
        "called": words(found.__name__, found.__module__),
    }
