"""The proof: a cache of that name holds what a static one holds."""

import torch

from hotfix.names.sliding_window_cache_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'SlidingWindowCache'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Build one and fill it."""
    from transformers import DynamicCache, LlamaConfig, StaticCache

    cls = ask(target)
    config = LlamaConfig(num_hidden_layers=1, hidden_size=16, num_attention_heads=2, num_key_value_heads=2)
    cache = cls(config=config, max_cache_len=6)
    keys = testbed.randn(1, 2, 4, 8)
    held = cache.update(keys, keys + 1, 0, {"cache_position": torch.arange(4)})
    return {
        "is static": torch.tensor([isinstance(cache, StaticCache), isinstance(DynamicCache(), cls)]),
        "keys": held[0],
        "values": held[1],
    }
