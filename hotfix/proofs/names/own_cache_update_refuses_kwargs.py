"""The proof: caches with an `update` of their own, as those of 2024, in a prefill and two steps of Llama."""

from typing import Any

import torch

from hotfix.names.own_cache_update_refuses_kwargs import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "5.23.0"}, raises="TypeError: .*unexpected keyword argument 'kwargs'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of each part, and the number of calls."""
    model = small_llama(testbed).eval()
    ids = testbed.randint(3, 32, 2, 9)
    results = {}
    for cache in caches():
        name = type(cache).__name__
        for step, part in enumerate(ids.split([5, 1, 3], dim=1)):
            results[f"{name}: logits {step}"] = model(part, past_key_values=cache, use_cache=True).logits
        results[f"{name}: length"] = torch.tensor(cache.get_seq_length())
        results[f"{name}: calls"] = torch.tensor(getattr(cache, "calls", 0))
    return results


def caches() -> list[Any]:
    """A cache of each kind."""
    from transformers import DynamicCache

    class Counting(DynamicCache):
        calls = 0

        def update(self, key_states: Any, value_states: Any, layer_idx: int, cache_kwargs: Any = None) -> Any:
            self.calls += 1
            return super().update(key_states, value_states, layer_idx, cache_kwargs)

    class Longer(Counting):
        pass

    class TakesAnything(DynamicCache):
        def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> Any:
            return super().update(key_states, value_states, *args, **kwargs)

    return [Counting(), Longer(), TakesAnything(), DynamicCache()]
