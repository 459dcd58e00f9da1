"""Caches for the cases of old names: empty, filled, and of a fixed size."""

import inspect
from typing import Any, Optional

import torch

from hotfix.proofs.testbed import Testbed

LAYERS, HEADS, WIDTH = 2, 2, 4


def dynamic(testbed: Testbed, tokens: int = 5, rows: int = 2) -> Any:
    """A growing cache of two layers; with no tokens an empty one."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer in range(LAYERS if tokens else 0):
        cache.update(*tensors(testbed, tokens, rows, seed=layer), layer)
    return cache


def tensors(testbed: Testbed, tokens: int, rows: int = 2, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of one layer, float32 of shape ``(rows, HEADS, tokens, WIDTH)``."""
    shape = (rows, HEADS, tokens, WIDTH)
    return testbed.randn(*shape, seed=10 + seed), testbed.randn(*shape, seed=20 + seed)


def static(testbed: Testbed, length: int = 16, rows: int = 2) -> Any:
    """A cache of a fixed size, with nothing in it."""
    from transformers import LlamaConfig, StaticCache

    config = LlamaConfig(
        hidden_size=HEADS * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=HEADS
    )
    # Of before 4.46.0, of 4.46.0 to 4.57.6, and of 5.0.0 on.
    parameters = inspect.signature(StaticCache.__init__).parameters
    takes_rows = "max_batch_size" in parameters or "kwargs" in parameters
    sizes = {"max_batch_size": rows} if takes_rows else {}
    where = {"device": testbed.device} if "device" in parameters else {}
    return StaticCache(config=config, max_cache_len=length, **sizes, **where)


def number(value: Optional[Any]) -> torch.Tensor:
    """An answer as a tensor; None is -100."""
    return torch.tensor(-100 if value is None else int(value))
