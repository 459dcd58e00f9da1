"""A tiny Llama with dynamic frequencies reads a short text, a long one, and the short one again."""

import torch

from hotfix.models.v5_dynamic_rope_not_reset import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of each, also of a model without scaling, where nothing was wrong."""
    from transformers import LlamaConfig, LlamaForCausalLM

    texts = {name: testbed.randint(5, 48, 2, length, seed=length) for name, length in (("short", 9), ("long", 40))}
    results = {}
    for kind in ("dynamic", "default"):
        config = LlamaConfig(
            vocab_size=48,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=16,
            rope_parameters={"rope_type": kind, "rope_theta": 10000.0, "factor": 4.0},
        )
        model = testbed.model(LlamaForCausalLM, config, "eager", torch.float32)
        for turn, name in enumerate(("short", "long", "short", "long", "short")):
            results[f"{kind}, {turn}: {name}"] = model(texts[name], use_cache=False).logits
    return results
