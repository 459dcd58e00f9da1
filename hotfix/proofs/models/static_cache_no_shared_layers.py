"""A tiny Gemma 3n whose layers share no keys and values, or the last two, decodes with a static cache.

Gemma 4 is not in all releases; it builds its cache by the same settings.
"""

from typing import Any

import torch

from hotfix.models.static_cache_no_shared_layers import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="IndexError: list index out of range")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens, and the lengths of the layers."""
    from transformers import Gemma3nForCausalLM, StaticCache

    results = {}
    for shared in (0, 2):
        model = testbed.model(Gemma3nForCausalLM, _config(shared), attn="eager", dtype=torch.float32)
        ids = testbed.randint(3, 60, 2, 3, seed=1)
        cache = StaticCache(config=model.config, max_cache_len=12)
        results[f"{shared} shared: tokens"] = model.generate(
            ids, attention_mask=torch.ones_like(ids), past_key_values=cache, max_new_tokens=6, do_sample=False
        )
        results[f"{shared} shared: lengths"] = torch.tensor([layer.keys.shape[-2] for layer in cache.layers])
    return results


def _config(shared: int) -> Any:
    from transformers import Gemma3nTextConfig

    return Gemma3nTextConfig(
        vocab_size=64,
        vocab_size_per_layer_input=64,
        hidden_size=32,
        hidden_size_per_layer_input=8,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_kv_shared_layers=shared,
        activation_sparsity_pattern=[0.0] * 4,
        laurel_rank=4,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
    )
