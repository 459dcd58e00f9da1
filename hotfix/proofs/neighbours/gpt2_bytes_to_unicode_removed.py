"""The proof: remote code makes its table of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.neighbours.gpt2_bytes_to_unicode_removed import FIX
from hotfix.proofs.names.asking import ask, listed

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name 'bytes_to_unicode'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import and call it."""
    import torch

    table = ask(target)()
    return {
        "bytes": torch.tensor(list(table)),
        "characters": torch.tensor([ord(one) for one in table.values()]),
        "listed": listed(target),
    }
