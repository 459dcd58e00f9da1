"""What the triggers of attention share."""

from __future__ import annotations

from typing import Any, Optional


def past_length(cache: Any, layer: int = 0) -> Optional[int]:
    """How many tokens a cache has of a layer; None where only the device knows."""
    if cache is None:
        return 0
    if type(cache).__name__ != "DynamicCache":
        return None
    layers = getattr(cache, "layers", None)
    if layers is not None:
        keys = getattr(layers[layer], "keys", None) if layer < len(layers) else None
    else:
        keys = cache.key_cache[layer] if layer < len(cache.key_cache) else None
    # A layer that has nothing yet may have an empty list, or a tensor of one axis.
    return 0 if keys is None or getattr(keys, "ndim", 0) < 3 else int(keys.shape[-2])


def is_flash(module: Any) -> bool:
    """Whether a layer, or a model, computes its attention with FlashAttention-2."""
    return bool(module.config._attn_implementation == "flash_attention_2")
