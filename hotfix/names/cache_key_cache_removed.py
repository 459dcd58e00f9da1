"""Caches no longer have the lists ``key_cache`` and ``value_cache``.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'key_cache'`` from code that compresses caches
          (MInference, KVPress), VibeVoice, peft 0.17 with prefix tuning, and older decoders.
Cause     The tensors moved into layers.
Releases  4.56.0 and later; 4.54.0 to 4.55.4 have a substitute for each list under these names.
Upstream  peft#2821 (not put back)
Here      A view that works like the list: index and slice, loops, ``len`` and ``append``. Assignments reach the layers,
          also that of a whole list. Empty layers are not in it, as in 4.53.3. A cache that has dropped tokens (sliding
          window, quantized rest) raises an error with an explanation.
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
