"""The proof: remote code asks for the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.is_flash_attn_ge_2_10_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the function, and call it."""
    import torch

    found = ask(target)
    return {"answer": torch.tensor(found()), "pickled": same_when_pickled(found)}
