"""The proof: a file imports the constant, as those do that began as a copy of the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.constants_removed import FIX
from hotfix.proofs.names.asking import ask, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its value."""
    return {"text": words(ask(target))}
