"""The proof: a growing cache, an empty one, and one of a fixed size return their maximum length."""

import torch

from hotfix.names.dynamic_cache_get_max_length_removed import FIX
from hotfix.proofs.names.small_caches import dynamic, number, static
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: 'DynamicCache' object has no attribute 'get_max_length'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """As ``prepare_inputs_for_generation`` does it."""
    caches = {"filled": dynamic(testbed), "empty": dynamic(testbed, tokens=0), "static": static(testbed)}
    return {name: number(cache.get_max_length()) for name, cache in caches.items()}
