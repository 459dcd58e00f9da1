"""The proof: what remote code asks of a cache before and in a forward pass."""

from typing import Any

import torch

from hotfix.names.dynamic_cache_seen_tokens_removed import FIX
from hotfix.proofs.names.small_caches import dynamic, number, static, tensors
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: '.*Cache' object has no attribute '(_?seen_tokens|get_usable_length)'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Empty, after five tokens, after two more, after some were taken back; and of a fixed size."""
    cache, empty = dynamic(testbed), dynamic(testbed, tokens=0)
    if target.qualname.endswith("._seen_tokens"):
        counting, results = type("CountingCache", (type(cache),), {"update": update})(), {}
        for turn, tokens in enumerate((5, 2)):
            for layer in range(2):
                counting.update(*tensors(testbed, tokens, seed=layer), layer)
            results[f"of its own, {turn}"] = number(counting._seen_tokens)
        return {**results, "empty": number(empty._seen_tokens), "filled": number(cache._seen_tokens)}
    if target.qualname.endswith("seen_tokens"):
        results = {"empty": number(empty.seen_tokens), "filled": number(cache.seen_tokens)}
        for layer in range(2):
            cache.update(*tensors(testbed, 2, seed=layer), layer)
        results["longer"] = number(cache.seen_tokens)
        return {**results, "static": number(static(testbed).seen_tokens)}
    results = {"empty": number(empty.get_usable_length(3)), "filled": number(cache.get_usable_length(2))}
    results["of a layer"] = number(cache.get_usable_length(1, 1))
    return {**results, "of none": number(cache.get_usable_length(1, 7))}


def update(self: Any, keys: torch.Tensor, values: torch.Tensor, layer: int, cache_kwargs: Any = None) -> Any:
    """The method of a cache that counts and keeps its tokens itself."""
    if layer == 0:
        self._seen_tokens += keys.shape[-2]
    self.__dict__.setdefault("kept", []).append(keys)
    return keys, values
