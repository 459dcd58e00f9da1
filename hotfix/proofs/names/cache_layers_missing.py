"""The proof: the layers of a cache are read, cut and filled, and a cache is made with a configuration."""

import torch

from hotfix.names.cache_layers_missing import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="(AttributeError: .*'layers'|TypeError: .*'config')",
    packages={"flash-attn": None},
    oracles={"*": "4.57.6"},  # 4.56.0 takes a configuration, 4.57 has is_initialized
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Keys and values, and the logits of a model that goes on with the cache."""
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "vocab_size": 16}
    config = LlamaConfig(**sizes, num_hidden_layers=2)
    model = testbed.fill(LlamaForCausalLM(config)).eval()
    made_of_config = target.qualname.endswith("__init__")
    cache = DynamicCache(config=config) if made_of_config else DynamicCache()
    ids = torch.arange(5)[None]
    with torch.no_grad():
        results = {"first": model(ids, past_key_values=cache, use_cache=True).logits}
        if made_of_config:
            results["length"] = torch.tensor(cache.get_seq_length())
        else:
            for number, layer in enumerate(cache.layers):
                results[f"keys {number}"] = layer.keys
                results[f"length {number}"] = torch.tensor([layer.get_seq_length(), layer.is_initialized])
                layer.keys, layer.values = layer.keys[..., :3, :], layer.values[..., :3, :] * 2
            results["length"] = torch.tensor([cache.get_seq_length(), len(cache.layers)])
        results["next"] = model(ids[:, :2], past_key_values=cache, use_cache=True).logits
    return results
