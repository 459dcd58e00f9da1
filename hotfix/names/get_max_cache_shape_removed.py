"""Caches no longer have ``get_max_cache_shape``, ``max_cache_len`` and ``max_batch_size``.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'get_max_cache_shape'`` from remote code that had
          followed the rename of ``get_max_length`` (DeepSeek-V2-Lite, revisions of Phi-3), and from older helpers.
Cause     The names were removed in favour of ``get_max_length`` and ``batch_size``.
Releases  5.20.0 and later
Upstream  not put back
Here      The results of 5.19.0: -1 for a cache without a maximum. Old code, as defined in
          cache-get-max-length-minus-one, gets None, as in 4.53.3.
"""

from __future__ import annotations

import sys
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.names import caches

FIX = Fix(
    title="AttributeError: 'DynamicCache' object has no attribute 'get_max_cache_shape'",
    kind="removed-api",
    group="removed-names",
    errors=("AttributeError: '…Cache' object has no attribute 'get_max_cache_shape'",),
)

LACKING = ">=5.20.0"
CACHE = "transformers.cache_utils:Cache"


@FIX.adds((f"{CACHE}.get_max_cache_shape", LACKING))
def get_max_cache_shape(self: Any, layer_idx: int = 0) -> Optional[int]:
    """The number of tokens that a layer can hold."""
    if caches.is_asked_the_old_way(sys._getframe(1)):
        return caches.maximum(self)
    length: int = self.get_max_length(layer_idx)
    return length


@FIX.adds_made((f"{CACHE}.max_cache_len", LACKING))
def max_cache_len(cache_utils: Any) -> caches.ReadOnly:
    """The number of tokens that the cache can hold; -1 if it grows."""
    return caches.ReadOnly(lambda cache: cache.get_max_length())


@FIX.adds_made((f"{CACHE}.max_batch_size", LACKING))
def max_batch_size(cache_utils: Any) -> caches.ReadOnly:
    """The batch size of the cache."""
    return caches.ReadOnly(lambda cache: cache.batch_size)
