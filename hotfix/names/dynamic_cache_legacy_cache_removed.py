"""Caches can neither be made from tuples, nor turned into them, nor indexed any more.

Symptom   ``AttributeError: type object 'DynamicCache' has no attribute 'from_legacy_cache'``, the same of
          ``to_legacy_cache``, ``TypeError: 'DynamicCache' object is not subscriptable``; in beam search
          ``AttributeError: 'NoneType' object has no attribute 'index_select'`` from a ``_reorder_cache`` of remote
          code.
Cause     What was there for the tuples of tuples that caches once were was removed. A loop over a cache now gives three
          values a layer, the third of which is the window.
Releases  5.0.0 and later; beam search 4.54.0 and later, where to 4.57.6 the cache becomes a tuple on the way
Upstream  trl#4248, transformers#48492 (not put back)
Here      The methods as in 4.57.6: pairs of keys and values, four tensors a layer for an encoder with a decoder. A
          cache that holds nothing yet has no layer 0, whatever it was made of, and says so with KeyError, as 4.53.3
          did. A tuple does not say how many tokens a sliding layer has seen: a cache that has dropped some is refused
          with a sentence. Loops over a cache stay as the release has them. If the fix is asked for, beam search
          reorders a cache by the cache's own method where the override is of the user's or remote code, as 4.53.3 did.
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


@FIX.adds((f"{MODULE}:Cache.__getitem__", LACKING))
def of_a_layer(self: Any, layer_idx: int) -> tuple[Any, ...]:
    """Keys and values of a layer; with those of the other attention in an `EncoderDecoderCache`."""
    pairs = _pairs(self)
    if layer_idx < len(pairs):
        return pairs[layer_idx]
    raise KeyError(f"Cache only has {len(pairs)} layers, attempted to access layer with index {layer_idx}")


@FIX.adds(
    (f"{MODULE}:DynamicCache.to_legacy_cache", LACKING), (f"{MODULE}:EncoderDecoderCache.to_legacy_cache", LACKING)
)
def to_legacy_cache(self: Any) -> tuple[tuple[Any, ...], ...]:
    """The tensors of all layers as tuples."""
    return tuple(_pairs(self))


@FIX.adds_made((f"{MODULE}:DynamicCache.from_legacy_cache", LACKING))
def from_legacy_cache(cache_utils: Any) -> Any:
    """A cache that holds the pairs of tensors in a tuple."""

    def from_legacy_cache(cls: Any, past_key_values: Any = None) -> Any:
        """A cache that holds the pairs of tensors in a tuple; an empty one for None."""
        cache = cls()
        for number in range(0 if past_key_values is None else len(past_key_values)):
            cache.update(*past_key_values[number], number)
        return cache

    return classmethod(from_legacy_cache)


@FIX.adds_made((f"{MODULE}:EncoderDecoderCache.from_legacy_cache", LACKING))
def from_legacy_cache_of_both(cache_utils: Any) -> Any:
    """Two caches that hold the four tensors a layer in a tuple."""

    def from_legacy_cache(cls: Any, past_key_values: Any) -> Any:
        """Two caches that hold the four tensors a layer in a tuple; empty ones for None."""
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
            or not isinstance(model_kwargs.get("past_key_values"), Cache)
        )
    """,
    optin="a _reorder_cache of the user's that knows caches would no longer be called",
)


# ---------------------------------------------------------------------------------------------------------------------


def _pairs(cache: Any) -> list[tuple[Any, ...]]:
    caches.refuse_a_window(cache)
    crossed = getattr(cache, "cross_attention_cache", None)
    if crossed is None:
        return [(layer.keys, layer.values) for layer in caches.filled(cache)]
    own, other = _pairs(cache.self_attention_cache), _pairs(crossed)
    return [one + more for one, more in zip(own, other)] if other else own
