"""A fresh interpreter in which torchao cannot be imported imports a Llama and runs it."""

import torch

from hotfix.loading.torchao_cannot_be_imported import FIX
from hotfix.proofs.loading._interpreter import LLAMA, results
from hotfix.proofs.testbed import Target, Testbed

BROKEN = "raise ImportError(\"cannot import name 'ScalingType' from 'torch.nn.functional'\")"


@FIX.case(
    raises="ScalingType|Could not import module",
    packages={"flash-attn": None, "torchao": "0.16.0"},
    oracles={"*": "4.50.3"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits without torchao."""
    return results(LLAMA + "print(json.dumps(results))", "torchao", BROKEN)
