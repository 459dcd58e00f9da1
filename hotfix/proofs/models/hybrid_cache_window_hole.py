"""A cache for a window of eight tokens is given five, and then one at a time."""

from typing import Any

import torch

from hotfix.models.hybrid_cache_window_hole import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of

WINDOW, PROMPT, LENGTH = 8, 5, 20


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Keys and values of the sliding layer that each step attends to."""
    return steps(testbed, class_of(target), [PROMPT] + [1] * (LENGTH - PROMPT))


def steps(testbed: Testbed, cls: Any, sizes: list[int]) -> dict[str, torch.Tensor]:
    """Keys and values that each step attends to.

    Args:
        testbed: of the case.
        cls: of the cache.
        sizes: how many tokens come with each step.
    """
    import inspect

    # In 4.42.0 to 4.42.3 the window is an argument of its own.
    more = {"sliding_window": WINDOW}
    named = more if "sliding_window" in inspect.signature(cls.update).parameters else {}
    cache = _made(cls, _configuration(cls.__name__), testbed.device)
    # Which layers have a window is another half of them before 4.42.4; a cache that is made late has it in the first.
    layer = next((number for number, keys in enumerate(cache.key_cache) if keys.shape[2] == WINDOW), 0)
    keys, values = (testbed.randn(1, 2, LENGTH, 8, seed=seed) for seed in (1, 2))
    results, begin = {}, 0
    for number, size in enumerate(sizes):
        place = torch.arange(begin, begin + size, device=testbed.device)
        key, value = cache.update(
            keys[:, :, place], values[:, :, place], layer, {"cache_position": place, **more}, **named
        )
        results[f"{number}: keys"], results[f"{number}: values"] = key.clone(), value.clone()
        begin += size
    return results


def _made(cls: Any, config: Any, device: str) -> Any:
    from transformers import StaticCache

    if cls.__name__ != "SlidingWindowCache":
        return cls(config, 1, LENGTH, device=device, dtype=torch.float32)

    # Its own `__init__` fails in some of these releases; all that it does is to make a StaticCache for the window.
    class Made(cls):
        def __init__(self) -> None:
            StaticCache.__init__(self, config, 1, WINDOW, device=device, dtype=torch.float32)

    return Made()


def _configuration(cache: str) -> Any:
    from transformers import Gemma2Config, MistralConfig

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    if cache == "HybridChunkedCache":
        from transformers import Llama4TextConfig

        return Llama4TextConfig(**sizes, head_dim=8, attention_chunk_size=WINDOW)
    if cache == "SlidingWindowCache":
        return MistralConfig(**sizes, sliding_window=WINDOW)
    return Gemma2Config(**sizes, head_dim=8, sliding_window=WINDOW)
