"""The proof: remote code makes its table of bytes."""

import torch

from hotfix.neighbours.gpt2_bytes_to_unicode_removed import FIX
from hotfix.proofs.names.asking import ask, listed
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'bytes_to_unicode'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import and call it."""
    table = ask(target)()
    return {
        "bytes": torch.tensor(list(table)),
        "characters": torch.tensor([ord(character) for character in table.values()]),
        "listed": listed(target),
    }
