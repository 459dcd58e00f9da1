"""The proof: remote code asks for the name, from both places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.names.is_torch_fx_available_removed import FIX

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name 'is_torch_fx_available'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the name as the target has it, and call it."""
    from importlib import import_module

    import torch

    namespace: dict[str, Any] = {}
    exec(f"from {target.module} import {target.qualname}", namespace)  # as remote code does
    found = namespace[target.qualname]
    return {
        "answer": torch.tensor(found()),
        "listed": torch.tensor(target.qualname in dir(import_module(target.module))),
    }
