"""Configurations of remote code with old and with new layer types."""

import torch

from hotfix.loading.v5_custom_layer_types import FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

OLD = """
from transformers import PretrainedConfig

class MixedConfig(PretrainedConfig):
    model_type = "mixed-of-ours"

    def __init__(self, layer_types=None, num_hidden_layers=2, **kwargs):
        self.layer_types = layer_types
        self.num_hidden_layers = num_hidden_layers
        super().__init__(**kwargs)
"""


@FIX.case(raises="layer_types. entries must be in")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The layer types."""
    config = remote(OLD)["MixedConfig"]
    kinds = {"old": ["mamba", "attention"], "new": ["linear_attention", "full_attention"]}
    results = {}
    for name, layers in kinds.items():
        made = config(layer_types=list(layers))
        made.validate_layer_type()
        results[name] = words(*made.layer_types)
    return results
