"""The proof: processors annotate with the type."""

import torch

from hotfix.names.videoinput_moved import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import it, make a hint of it, and look what it is."""
    from typing import Optional

    restored = ask(target)

    hint = Optional.__getitem__(restored)
    return {
        "shown": words(repr(restored)),
        "in a hint": words(repr(hint)),
        "listed": listed(target),
        "is a union": torch.tensor(len(restored.__args__)),
    }
