"""Caches have no lists ``key_cache`` and ``value_cache`` any more.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'key_cache'`` from code that compresses caches
          (MInference, KVPress), VibeVoice, peft 0.17 with prefix tuning, and older decoders.
Cause     The tensors moved into layers.
Releases  4.56.0 and later; in 4.54.0 to 4.55.4 a stand-in for each list went by these names.
Upstream  peft#2821 (not put back)
Here      A view that is used as the list was: by index and slice, in loops, with ``len`` and ``append``; what is set is
          set in the layer, and so is a list that is assigned. Layers that hold nothing yet are not in it, as in 4.53.3.
          A cache that has dropped tokens (a sliding window, a quantized rest) is refused with a sentence.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names import caches

FIX = Fix(
    title="AttributeError: 'DynamicCache' object has no attribute 'key_cache'",
    kind="removed-api",
    upstream=("peft#2821",),
    group="removed-names",
    errors=(
        "AttributeError: '…Cache' object has no attribute 'key_cache'",
        "AttributeError: '…Cache' object has no attribute 'value_cache'",
    ),
)

LACKING = ">=4.56.0"
CACHE = "transformers.cache_utils:Cache"


@FIX.adds_made((f"{CACHE}.key_cache", LACKING))
def key_cache(cache_utils: Any) -> caches.Lists:
    """The keys of all layers."""
    return caches.Lists("key_cache", "keys")


@FIX.adds_made((f"{CACHE}.value_cache", LACKING))
def value_cache(cache_utils: Any) -> caches.Lists:
    """The values of all layers."""
    return caches.Lists("value_cache", "values")
