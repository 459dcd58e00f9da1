"""The proof: generation with an override of remote code."""

import torch

from hotfix.names.extract_past_from_model_output_removed import FIX
from hotfix.proofs.names.extract_past import generated
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: 'LlamaForCausalLM' object has no attribute '_extract_past_from_model_output'",
    packages={"flash-attn": None},
    oracles={"*": "4.41.2"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens."""
    return generated(testbed)
