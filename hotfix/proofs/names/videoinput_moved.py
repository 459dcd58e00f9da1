"""The proof: processors annotate with the type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.videoinput_moved import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.processing._pictures import PACKAGES

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import it, make a hint of it, and look what it is."""
    from typing import Optional

    import torch

    found = ask(target)

    hint = Optional.__getitem__(found)
    return {
        "shown": words(repr(found)),
        "in a hint": words(repr(hint)),
        "listed": listed(target),
        "is a union": torch.tensor(len(found.__args__)),
    }
