"""The proof: a growing cache and one of a fixed size are queried by code of 2025."""

import torch

from hotfix.names.get_max_cache_shape_removed import FIX
from hotfix.proofs.names.small_caches import dynamic, number, static
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: '(Dynamic|Static)Cache' object has no attribute '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The answer of each."""
    name = target.qualname.rpartition(".")[2]
    growing, fixed = dynamic(testbed), static(testbed)
    if name == "get_max_cache_shape":
        empty = dynamic(testbed, tokens=0)
        answers = {"growing": growing, "fixed": fixed, "empty": empty}
        return {
            **{who: number(cache.get_max_cache_shape()) for who, cache in answers.items()},
            "of a layer": number(fixed.get_max_cache_shape(1)),
        }
    if name == "max_cache_len":
        return {"growing": number(growing.max_cache_len), "fixed": number(fixed.max_cache_len)}
    from hotfix.proofs.names.small_caches import HEADS, WIDTH

    for layer in fixed.layers:  # the rows are known with the first of them
        states = torch.zeros(2, HEADS, 1, WIDTH)
        layer.lazy_initialization(states, states)
    return {"fixed": number(fixed.max_batch_size)}
