"""The proof: loops that unpack two or four values for a layer, in each form, and ``generate()`` with a tuple."""

from typing import Any

import torch

from hotfix.names.v5_caches_of_pairs import FIX
from hotfix.proofs.names.small_caches import dynamic, number
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="ValueError: too many values to unpack|ValueError: Passing a tuple of", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the loops get, and the tokens."""
    from transformers.cache_utils import EncoderDecoderCache

    if target.qualname.endswith("_prepare_cache_for_generation"):
        model = llama(testbed, attn="sdpa", dtype=torch.float32)
        prompt = testbed.randint(3, 60, 2, 5, seed=3)
        past = model(prompt[:, :-1]).past_key_values
        layers = tuple((layer.keys, layer.values) for layer in past.layers)
        settings: dict[str, Any] = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
        return {"tokens": model.generate(prompt, past_key_values=layers, **settings)}
    cache = dynamic(testbed)
    if target.qualname.startswith("EncoderDecoderCache"):
        both = EncoderDecoderCache(cache, dynamic(testbed, tokens=3))
        return {f"{i} {j}": part for i, (a, b, c, d) in enumerate(both) for j, part in enumerate((a, b, c, d))}
    results: dict[str, torch.Tensor] = {}
    for key, value in cache:
        results.update({f"key {len(results)}": key, f"value {len(results)}": value})
    shapes = [key.shape[2] for key, value in cache]
    lengths = {layer: key.shape[2] + value.shape[2] for layer, (key, value) in enumerate(cache)}
    results["copy"] = torch.cat([torch.cat(pair) for pair in tuple((key, value) for key, value in cache)])
    return {**results, "shapes": number(sum(shapes)), "lengths": number(sum(lengths.values()))}
