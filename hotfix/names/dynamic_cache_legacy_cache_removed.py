"""Caches can no longer be made from tuples, converted to tuples, or indexed.

Symptom   ``AttributeError: type object 'DynamicCache' has no attribute 'from_legacy_cache'``, the same of
          ``to_legacy_cache``, ``TypeError: 'DynamicCache' object is not subscriptable``; in beam search
          ``AttributeError: 'NoneType' object has no attribute 'index_select'`` from a ``_reorder_cache`` of remote
          code.
Cause     The support for tuples of tuples, the old form of caches, was removed. A loop over a cache now yields three
          values per layer; the third is the window.
Releases  5.0.0 and later; beam search 4.54.0 and later, where to 4.57.6 the cache becomes a tuple on the way
Upstream  trl#4248, transformers#48492 (not put back)
Here      The methods of 4.57.6: pairs of keys and values, or four tensors per layer for an encoder with a decoder. An
          empty cache has no layer 0 and raises KeyError, as in 4.53.3. A tuple has no room for the number of tokens
          that a sliding layer has seen, so a cache that has dropped tokens raises an error with an explanation. Loops
          over a cache are those of `v5-caches-of-pairs`. As an opt-in, beam search reorders a cache by the cache's own
          method if the override comes from the user or remote code, as in 4.53.3.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names import caches

FIX = Fix(
    title="AttributeError: type object 'DynamicCache' has no attribute 'from_legacy_cache'",
    kind="removed-api",
    upstream=("trl#4248", "transformers#48492"),
    group="removed-names",
    errors=(
        "AttributeError: type object 'DynamicCache' has no attribute 'from_legacy_cache'",
        "TypeError: 'DynamicCache' object is not subscriptable",
        "AttributeError: 'NoneType' object has no attribute 'index_select'",
    ),
)

LACKING = ">=5.0.0"
MODULE = "transformers.cache_utils"


# Not `Cache`, which has no loop either: with this method `iter()` and numpy would take each cache for a sequence.
@FIX.adds((f"{MODULE}:DynamicCache.__getitem__", LACKING), (f"{MODULE}:EncoderDecoderCache.__getitem__", LACKING))
def of_a_layer(self: Any, layer_idx: int) -> tuple[Any, ...]:
    """Keys and values of a layer; for an `EncoderDecoderCache`, also those of cross-attention."""
    pairs = _pairs(self)
    if layer_idx < len(pairs):
        return pairs[layer_idx]
    raise KeyError(f"Cache only has {len(pairs)} layers, attempted to access layer with index {layer_idx}")


@FIX.adds(
    (f"{MODULE}:DynamicCache.to_legacy_cache", LACKING), (f"{MODULE}:EncoderDecoderCache.to_legacy_cache", LACKING)
)
def to_legacy_cache(self: Any) -> tuple[tuple[Any, ...], ...]:
    """The tensors of all layers, as tuples."""
    return tuple(_pairs(self))


@FIX.adds_made((f"{MODULE}:DynamicCache.from_legacy_cache", LACKING))
def from_legacy_cache(cache_utils: Any) -> Any:
    """A cache with the pairs of tensors of a tuple."""

    def from_legacy_cache(cls: Any, past_key_values: Any = None) -> Any:
        """A cache with the pairs of tensors of a tuple; an empty cache for None."""
        cache = cls()
        for number in range(0 if past_key_values is None else len(past_key_values)):
            cache.update(*past_key_values[number], number)
        return cache

    return classmethod(from_legacy_cache)


@FIX.adds_made((f"{MODULE}:EncoderDecoderCache.from_legacy_cache", LACKING))
def from_legacy_cache_of_both(cache_utils: Any) -> Any:
    """Two caches with the four tensors per layer of a tuple."""

    def from_legacy_cache(cls: Any, past_key_values: Any) -> Any:
        """Two caches with the four tensors per layer of a tuple; empty caches for None."""
        if past_key_values is None:
            return cls(cache_utils.DynamicCache(), cache_utils.DynamicCache())
        return cls(past_key_values)

    return classmethod(from_legacy_cache)


FIX.edits(
    ("transformers.generation.utils:GenerationMixin._beam_search", ">=4.54.0"),
    old='hasattr(self, "_reorder_cache")',
    new="""
        hasattr(self, "_reorder_cache") and (
            self._reorder_cache.__module__.startswith("transformers.")
            or not isinstance(model_kwargs.get("cache", model_kwargs.get("past_key_values")), Cache)
        )
    """,
    optin="a user's _reorder_cache that knows caches would no longer be called",
)


# ---------------------------------------------------------------------------------------------------------------------


def _pairs(cache: Any) -> list[tuple[Any, ...]]:
    caches.refuse_a_window(cache)
    crossed = getattr(cache, "cross_attention_cache", None)
    if crossed is None:
        return [(layer.keys, layer.values) for layer in caches.filled(cache)]
    own, other = _pairs(cache.self_attention_cache), _pairs(crossed)
    return [pair + crossed_pair for pair, crossed_pair in zip(own, other)] if other else own
