"""The proof: remote code asks for the flag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.is_torch_ge_1_13_removed import FIX
from hotfix.proofs.names.asking import ask

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the flag, and ask it."""
    import torch

    found = ask(target)
    assert isinstance(found, bool), found
    return {"answer": torch.tensor(found)}
