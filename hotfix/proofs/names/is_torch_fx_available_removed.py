"""The proof: remote code asks for the name, from both places."""

from typing import Any

import torch

from hotfix.names.is_torch_fx_available_removed import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'is_torch_fx_available'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the name as the target has it, and call it."""
    from importlib import import_module

    namespace: dict[str, Any] = {}
    exec(f"from {target.module} import {target.qualname}", namespace)  # as remote code does
    restored = namespace[target.qualname]
    return {
        "answer": torch.tensor(restored()),
        "listed": torch.tensor(target.qualname in dir(import_module(target.module))),
    }
