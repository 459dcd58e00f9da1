"""A cache that keeps its tensors in lists, as code of its time has it, in a prefill and two steps of Llama."""

from typing import Any

import torch

from hotfix.names.own_cache_without_layers import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(
    oracles={"*": "4.53.3"},
    raises="ValueError: You should provide exactly one of|TypeError: .*missing 1 required positional argument",
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of each part, and what the cache answers."""
    model, cache = llama(testbed, attn="sdpa"), _cache()
    results = {}
    for step, ids in enumerate(testbed.randint(0, 64, 2, 9).split([5, 1, 3], dim=1)):
        results[f"logits {step}"] = model(ids, past_key_values=cache, use_cache=True).logits
    results["length"] = torch.tensor(cache.get_seq_length())
    return results


def _cache() -> Any:
    from transformers.cache_utils import Cache

    class Own(Cache):
        def __init__(self) -> None:
            super().__init__()
            self.stored: list[Any] = []

        def update(self, key_states: Any, value_states: Any, layer_idx: int, *args: Any, **kwargs: Any) -> Any:
            if layer_idx == len(self.stored):
                self.stored.append((key_states, value_states))
            else:
                pairs = zip(self.stored[layer_idx], (key_states, value_states))
                self.stored[layer_idx] = tuple(torch.cat(pair, dim=-2) for pair in pairs)
            return self.stored[layer_idx]

        def get_seq_length(self, layer_idx: Any = 0) -> int:
            return self.stored[0][0].shape[-2] if self.stored else 0

        def get_max_cache_shape(self) -> Any:
            return None

    return Own()
