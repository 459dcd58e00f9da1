"""A tiny Llama continues texts by beam search and by contrastive search, with little memory and with more."""

from typing import Any

import torch

from hotfix.models.cache_from_batch_splits_values import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens, and a cache that was cut up and put together."""
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=None,
    )
    model = testbed.model(LlamaForCausalLM, config, "eager", torch.float32)
    ids = testbed.randint(5, 48, 2, 6, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    results = {}
    # Contrastive search takes one text at a time; it was right.
    ways: dict[str, tuple[int, dict[str, Any]]] = {
        "beams": (2, {"num_beams": 3}),
        "contrastive": (1, {"penalty_alpha": 0.6, "top_k": 3}),
    }
    for way, (texts, options) in ways.items():
        for low in (False, True):
            given = {"attention_mask": mask[:texts], "max_new_tokens": 8, "do_sample": False, "low_memory": low}
            results[f"{way}, low memory {low}"] = model.generate(ids[:texts], **given, **options)
    splits = []
    for seed in (1, 2):
        part = DynamicCache()
        part.update(testbed.randn(2, 2, 5, 8, seed=seed), testbed.randn(2, 2, 5, 8, seed=seed + 2), 0)
        splits.append(part)
    whole = DynamicCache.from_batch_splits(splits, 1)
    return {**results, "keys": whole.key_cache[0], "values": whole.value_cache[0]}
