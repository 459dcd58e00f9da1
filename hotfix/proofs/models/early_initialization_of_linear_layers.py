"""The states of linear-attention layers, in caches that are initialized early."""

from typing import Any

import torch

from hotfix.models.early_initialization_of_linear_layers import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="RuntimeError: The size of tensor a", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states after a prompt and after two tokens, and the keys of the other layer."""
    results: dict[str, torch.Tensor] = {}
    for name in ("conv", "recurrent"):
        if target.qualname.endswith(f"{name}_state"):
            results.update(steps(testbed, name))
    return results


def steps(testbed: Testbed, name: str) -> dict[str, torch.Tensor]:
    """What a cache returns and keeps, by the kind of states."""
    from transformers import DynamicCache, LlamaConfig, StaticCache

    config: Any = LlamaConfig(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=32)
    config.layer_types = ["full_attention", "linear_attention"]
    results: dict[str, torch.Tensor] = {}
    device = testbed.randn(1).device
    for cache in (StaticCache(config=config, max_cache_len=6), DynamicCache(config=config)):
        kind = type(cache).__name__
        cache.early_initialization(batch_size=2, num_heads=2, head_dim=8, dtype=torch.float32, device=device)
        for text in range(2):
            for step, tokens in enumerate((3, 1, 1)):
                seed = 3 * text + step
                keys = testbed.randn(2, 2, tokens, 8, seed=seed)
                results[f"{kind} keys {seed}"] = cache.update(keys, keys, 0)[0].clone()
                if name == "conv":
                    states = testbed.randn(2, 6, 1 if step else 4, seed=seed)
                    kept = cache.update_conv_state(states, 1)
                else:
                    kept = cache.update_recurrent_state(testbed.randn(2, 4, 16, 5, seed=seed), 1)
                results[f"{kind} {seed}"] = kept.clone()
            cache.reset()
    return results
