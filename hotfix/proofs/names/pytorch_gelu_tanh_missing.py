"""The proof: autoawq imports the class, and scales the activations of models that use it."""

from typing import Any

import torch

from hotfix.names.pytorch_gelu_tanh_missing import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the class, build one and call it."""
    cls = ask(target)
    module = cls()
    hidden = testbed.randn(2, 5, 16, dtype=torch.float32)
    return {
        "float32": module(hidden),
        "bfloat16": module(hidden.to(torch.bfloat16)),
        "is a module": torch.tensor(isinstance(module, torch.nn.Module)),
        "of the activations": torch.tensor(isinstance(module, type(_activation("gelu_pytorch_tanh")))),
        "pickled": same_when_pickled(cls),
    }


def _activation(name: str) -> Any:
    from transformers.activations import get_activation

    return get_activation(name)
