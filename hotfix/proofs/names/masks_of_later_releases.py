"""The proof: masks for a padded batch, without and with a cache, as remote code for 5.x asks for them."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.masks_of_later_releases import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: create_", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The masks."""
    from transformers import DynamicCache, LlamaConfig

    config = LlamaConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, vocab_size=16)
    config.sliding_window = 3
    config._attn_implementation = "eager"
    create: Any = getattr(import_module(target.module), target.qualname)
    padded = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    arguments: dict[str, Any] = {"config": config, "inputs_embeds": testbed.randn(2, 6, 16), "attention_mask": padded}
    results = {"whole": create(**arguments, past_key_values=None, position_ids=torch.arange(6)[None])}
    cache = DynamicCache()
    cache.update(testbed.randn(2, 2, 4, 8), testbed.randn(2, 2, 4, 8), 0)
    arguments["inputs_embeds"] = testbed.randn(2, 2, 16)
    results["after a cache"] = create(**arguments, past_key_values=cache, position_ids=None)
    arguments.update(attention_mask=None)
    results["no padding"] = create(**arguments, past_key_values=cache)
    return results
