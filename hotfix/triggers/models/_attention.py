"""Shared by the triggers of attention."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

from hotfix.triggers.training._trainer import release

_last: tuple[Any, ...] = ()


def past_length(cache: Any, layer: int = 0) -> Optional[int]:
    """How many tokens a cache has of a layer; None where only the device knows."""
    if cache is None:
        return 0
    cache = getattr(cache, "self_attention_cache", cache)
    if type(cache).__name__ != "DynamicCache":
        return None
    layers = getattr(cache, "layers", None)
    if layers is not None:
        keys = getattr(layers[layer], "keys", None) if layer < len(layers) else None
    else:
        keys = cache.key_cache[layer] if layer < len(cache.key_cache) else None
    # A layer that has nothing yet may have an empty list, or a tensor of one axis.
    return 0 if keys is None or getattr(keys, "ndim", 0) < 3 else int(keys.shape[-2])


def has_one_key(states: Any, cache: Any, layer: int) -> bool:
    """Whether queries have one key to attend to: then its weight is 1, whatever the score.

    Args:
        states: of shape (batch, queries, numbers).
        cache: of keys, or None.
        layer: its number.
    """
    return bool(states.shape[1] == 1 and past_length(cache, layer) == 0)


def is_flash(module: Any) -> bool:
    """Whether a layer, or a model, computes its attention with FlashAttention-2."""
    return bool(module.config._attn_implementation == "flash_attention_2")


def is_longer_than(window: int, mask: Any) -> Any:
    """Whether some row of a batch has more tokens than a window, its padding not among them: one truth value.

    Args:
        window: in tokens.
        mask: 1 or True for tokens and 0 for padding, of shape (batch, keys).
    """
    return _once(mask, window, lambda: (mask.sum(-1) > window).any())


def goes_past(window: int, positions: Any) -> Any:
    """Whether some sequence that is packed into a row has more tokens than a window: one truth value.

    Up to 4.53.3 a row is one sequence where positions never decrease, whatever they are.

    Args:
        window: in tokens.
        positions: of the tokens, from 0 on in each sequence.
    """
    if release().startswith(("4.54.", "4.55.")):
        return _once(positions, window, lambda: (positions >= window).any())
    return _once(positions, window, lambda: (positions >= window).any() | (positions.diff(dim=-1) >= 0).all())


def _once(tensor: Any, window: int, compute: Callable[[], Any]) -> Any:
    """All layers of a model are given one tensor: what it says is computed for the first of them."""
    global _last
    if tensor.is_inference():  # has no version: nobody could tell that it was written into
        return compute()
    if not _last or _last[0]() is not tensor or _last[1:3] != (tensor._version, window):
        _last = weakref.ref(tensor), tensor._version, window, compute()
    return _last[3]
