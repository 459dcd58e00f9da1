"""The proof: a cache of that name holds what a static one holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.sliding_window_cache_removed import FIX
from hotfix.proofs.names.asking import ask

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name 'SlidingWindowCache'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Build one and fill it."""
    import torch
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
