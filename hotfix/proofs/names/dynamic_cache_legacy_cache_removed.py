"""The proof: tuples become caches and caches tuples; beam search with a ``_reorder_cache`` of remote code."""

from typing import Any

import torch

from hotfix.names.dynamic_cache_legacy_cache_removed import FIX
from hotfix.proofs.names.asking import remote
from hotfix.proofs.names.small_caches import dynamic, number, tensors
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama

OLD = """
def _reorder_cache(past_key_values, beam_idx):
    reordered = ()
    for layer in past_key_values:
        reordered += (tuple(one.index_select(0, beam_idx.to(one.device)) for one in layer),)
    return reordered
"""


@FIX.case(
    raises="AttributeError: type object|AttributeError: '(Dynamic|EncoderDecoder)Cache' object|not subscriptable"
    "|'(NoneType|tuple)' object has no attribute",
    packages={"flash-attn": None},
    # In 4.54.0 to 4.57.6 beam search turns the cache into tuples by the override.
    oracles={"transformers.generation.utils:GenerationMixin._beam_search": "4.53.3"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The result of each target."""
    if target.qualname.endswith("_beam_search"):
        model = llama(testbed, attn="sdpa", dtype=torch.float32)
        type(model)._reorder_cache = staticmethod(remote(OLD)["_reorder_cache"])
        try:
            prompt = testbed.randint(3, 60, 2, 5, seed=3)
            return {"tokens": model.generate(prompt, num_beams=3, max_new_tokens=6, do_sample=False, pad_token_id=0)}
        finally:
            del type(model)._reorder_cache
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    both = target.qualname.startswith("EncoderDecoderCache")
    cache = EncoderDecoderCache(dynamic(testbed), dynamic(testbed, tokens=3)) if both else dynamic(testbed)
    if target.qualname.endswith("__getitem__"):
        results = _flat({"layers": (cache[0], cache[1])})
        try:
            DynamicCache()[0][0]
        except KeyError:
            results["no layer"] = number(None)
        four = EncoderDecoderCache(dynamic(testbed), dynamic(testbed, tokens=3))[1]
        return {**results, **_flat({"both": (four,)})}
    if target.qualname.endswith("to_legacy_cache"):
        return _flat({"tuple": cache.to_legacy_cache()})
    rows = tuple(tensors(testbed, 4, seed=n) + (tensors(testbed, 2, seed=n + 5) if both else ()) for n in range(2))
    made = type(cache).from_legacy_cache(rows)
    own = made.self_attention_cache if both else made
    none = type(cache).from_legacy_cache(None)
    results = {"length": number(made.get_seq_length()), "none": number(none.get_seq_length())}
    keys, values = own.update(*tensors(testbed, 1, seed=9), 1)
    return {**results, "keys": keys, "values": values}


def _flat(named: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {
        f"{name} {layer} {index}": tensor
        for name, layers in named.items()
        for layer, several in enumerate(layers)
        for index, tensor in enumerate(several)
    }
