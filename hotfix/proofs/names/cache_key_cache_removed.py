"""The proof: a cache is read, cut to its last tokens and grown by its lists."""

import torch

from hotfix.names.cache_key_cache_removed import FIX
from hotfix.proofs.names.small_caches import dynamic, number, tensors
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: 'DynamicCache' object has no attribute '(key|value)_cache'",
    # The replacement list of 4.54.0 to 4.55.4 has no append.
    oracles={"*": "4.53.3"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """As code does that compresses a cache."""
    name = target.qualname.rpartition(".")[2]
    cache = dynamic(testbed)
    results = {f"layer {number}": tensor for number, tensor in enumerate(getattr(cache, name))}
    results["empty"] = number(len(getattr(dynamic(testbed, tokens=0), name)))
    results["layers"] = number(len(getattr(cache, name)))
    results["last"] = getattr(cache, name)[-1]
    results["slice"] = getattr(cache, name)[:1][0]
    for number_of_layer in range(2):
        for lists in (cache.key_cache, cache.value_cache):
            lists[number_of_layer] = lists[number_of_layer][:, :, -2:]
    results["length"] = number(cache.get_seq_length())
    keys, values = cache.update(*tensors(testbed, 1, seed=5), 1)
    results["updated"] = keys if name == "key_cache" else values
    keys, values = tensors(testbed, 3, seed=7)
    cache.key_cache.append(keys)
    cache.value_cache.append(values)
    results["appended"] = getattr(cache, name)[2]
    return {**results, "more layers": number(len(cache))}
