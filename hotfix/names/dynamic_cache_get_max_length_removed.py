"""Caches no longer have ``get_max_length``.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'get_max_length'`` in ``generate()``, from remote
          code of Phi-3, DeepSeek-V2, MiniCPM-V, GOT-OCR, moondream, Emu3 and others.
Cause     The method was renamed to ``get_max_cache_shape``, and the old name removed.
Releases  4.49.0 to 5.12.1. 5.13.0 added a method of this name with another meaning:
          cache-get-max-length-minus-one.
Upstream  transformers#36071 and some thirteen issues of other projects (not put back for what it meant)
Here      None for a growing cache, otherwise the number of tokens, as in 4.48.3. A dynamic cache with sliding layers
          counts as growing; dynamic-cache-seen-tokens-removed stops code that takes the window for all tokens.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.names import caches

FIX = Fix(
    title="AttributeError: 'DynamicCache' object has no attribute 'get_max_length'",
    kind="removed-api",
    upstream=("transformers#36071",),
    group="removed-names",
    errors=("AttributeError: '…Cache' object has no attribute 'get_max_length'",),
)


@FIX.adds(("transformers.cache_utils:Cache.get_max_length", ">=4.49.0,<5.13.0"))
def get_max_length(self: Any) -> Optional[int]:
    """The number of tokens that the cache can hold; None if it grows."""
    return caches.maximum(self)
