"""The proof: positions from a length, and masks from numbers."""

from typing import Any

import torch

from hotfix.names.generation_calls_of_other_releases import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama

_MIXIN = "transformers.generation.utils:GenerationMixin"


@FIX.case(
    raises="TypeError: .*(takes 3 positional|isin)|AttributeError: 'int' object has no attribute 'device'",
    packages={"flash-attn": None},
    oracles={
        f"{_MIXIN}._get_initial_cache_position": "4.57.6",
        f"{_MIXIN}._prepare_attention_mask_for_generation": "4.40.2",
    },
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the methods answer."""
    model = small_llama(testbed)
    ids = testbed.randint(3, 16, 2, 6)
    if target.qualname.endswith("_prepare_attention_mask_for_generation"):
        ids[0, :2] = 1
        mask: Any = model._prepare_attention_mask_for_generation
        return {
            "padded": mask(ids, 1, 2),
            "in 32 bits": mask(ids.int(), 1, 2),
            "several ends": mask(ids, 1, [2, 15]),
            "the padding ends it": mask(ids, 1, [2, 1]),
            "no padding": mask(ids[1:], 1, 2),
            "no end": mask(ids, 1, None),
            "no id": mask(ids, None, 2),
            "embeddings": mask(testbed.randn(2, 5, 8), 1, 2),
            "no ends": mask(ids, 1, []),
        }
    from transformers import DynamicCache

    cache = model(ids[:, :2], past_key_values=DynamicCache(), use_cache=True).past_key_values
    ways: dict[str, dict[str, Any]] = {
        "prompt": {},
        "kept": {"cache_position": torch.arange(3)},
        "none": {"cache_position": None},
        "cache": {"past_key_values": cache},
        "embeddings": {"inputs_embeds": testbed.randn(2, 5, 8)},
    }
    given = model._get_initial_cache_position
    return {way: given(6, ids.device, inputs)["cache_position"] for way, inputs in ways.items()}
