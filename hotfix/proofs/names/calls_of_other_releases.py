"""The proof: positions for a prompt and after a cache, and lists of layers."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.calls_of_other_releases import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(
    raises="TypeError: .*(missing 1 required positional|takes 1 positional argument but 2)",
    packages={"flash-attn": None},
    oracles={
        "transformers.generation.utils:GenerationMixin._get_initial_cache_position": "4.51.3",
        "transformers.configuration_utils:layer_type_validation": "4.57.1",
    },
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the functions answer."""
    if target.qualname == "layer_type_validation":
        return _layers(target)
    from transformers import DynamicCache

    model = small_llama(testbed)
    ids = testbed.randint(3, 16, 2, 6)
    cache = model(ids[:, :2], past_key_values=DynamicCache(), use_cache=True).past_key_values
    ways: dict[str, dict[str, Any]] = {
        "prompt": {},
        "again": {"cache_position": torch.arange(3)},
        "cache": {"past_key_values": cache},
        "embeddings": {"inputs_embeds": testbed.randn(2, 5, 8)},
    }
    return {way: model._get_initial_cache_position(ids, given)["cache_position"] for way, given in ways.items()}


def _layers(target: Target) -> dict[str, torch.Tensor]:
    check = getattr(import_module(target.module), target.qualname)
    kinds = ["full_attention", "sliding_attention"]
    results = {"right": torch.tensor([check(kinds, 2) is None, check(kinds, num_hidden_layers=None) is None])}
    for number, (given, count) in enumerate([(kinds, 3), (["unknown"], 1)]):
        try:
            check(given, num_hidden_layers=count)
        except ValueError as error:
            results[f"error {number}"] = words(str(error).partition("must be in")[0])
    return results
