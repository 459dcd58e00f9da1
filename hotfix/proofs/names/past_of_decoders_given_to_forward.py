"""The proof: a small model of each class goes on with keys and values that a program keeps as a tuple of tuples."""

import torch

from hotfix.names.past_of_decoders_given_to_forward import FIX
from hotfix.proofs.names.v5_past_given_to_forward import continued
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: 'tuple' object has no attribute '\\w+'|ValueError: The `past_key_values` should be either",
    packages={"flash-attn": None},
    oracles={"*": "4.47.1"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The hidden states and the content of the cache in the output, which was a tuple in 4.47.1."""
    results = continued(testbed, target, num_key_value_heads=2, head_dim=8)
    return {name: value for name, value in results.items() if name != "kind"}
