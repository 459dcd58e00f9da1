"""Rows of a cache, for beam searches of a program's own."""

from __future__ import annotations

import copy
from typing import Any


def is_reordered(past: Any) -> bool:
    """Whether it is a dynamic cache of the library, one of an encoder and a decoder, or tuples of tensors."""
    if isinstance(past, tuple):
        return all(isinstance(layer, tuple) and all(part.dim() == 4 for part in layer) for layer in past)
    return type(past).__module__ == "transformers.cache_utils" and type(past).__name__ in (
        "DynamicCache",
        "EncoderDecoderCache",
    )


def reordered(past: Any, rows: Any) -> Any:
    """The chosen rows; `past` keeps its own.

    Args:
        past: what `is_reordered` accepts.
        rows: a tensor with the shape ``(batch,)``.
    """
    if isinstance(past, tuple):
        return tuple(tuple(part.index_select(0, rows.to(part.device)) for part in layer) for layer in past)
    made = _apart(past)
    made.reorder_cache(rows)
    return made


def _apart(cache: Any) -> Any:
    """A cache with the same tensors, which can get others without the first one's noticing."""
    made = copy.copy(cache)
    for name, value in vars(cache).items():
        if isinstance(value, list):
            vars(made)[name] = [_apart(each) if hasattr(each, "reorder_cache") else each for each in value]
        elif isinstance(value, dict):
            vars(made)[name] = dict(value)
        elif hasattr(value, "reorder_cache") and not isinstance(value, type):
            vars(made)[name] = _apart(value)
    return made
