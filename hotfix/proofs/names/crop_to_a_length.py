"""A cache of five tokens is cut back to three, to more than it has, and to one."""

import torch

from hotfix.names.crop_to_a_length import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ValueError: Calling `crop` with a positive value", oracles={"*": "5.19.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What is left of it, with a window that is not reached and without."""
    from transformers import DynamicCache, LlamaConfig, MistralConfig

    results = {}
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    for config in (LlamaConfig(**sizes), MistralConfig(**sizes, sliding_window=8)):
        cache = DynamicCache(config=config)
        for layer in range(2):
            states = testbed.randn(1, 2, 5, 4, seed=layer)
            cache.update(states, 2 * states, layer)
        for length in (3, 7, 1):
            cache.crop(length)
            results[f"{type(config).__name__}, {length}"] = torch.stack([layer.values for layer in cache.layers])
            assert cache.get_seq_length() == min(length, 3)
    return results
