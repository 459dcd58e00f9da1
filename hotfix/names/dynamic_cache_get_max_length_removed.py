"""Caches have no ``get_max_length`` any more.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'get_max_length'`` in ``generate()``, from remote
          code of Phi-3, DeepSeek-V2, MiniCPM-V, GOT-OCR, moondream, Emu3 and others.
Cause     The method was renamed to ``get_max_cache_shape``, and the old name removed.
Releases  4.49.0 to 5.12.1. From 5.13.0 on there is a method of this name again, which means something else:
          cache-get-max-length-minus-one.
Upstream  transformers#36071 and some thirteen issues of other projects (not put back for what it meant)
Here      None for a cache that grows, the number of tokens for one that does not, as in 4.48.3. A dynamic cache some of
          whose layers keep a window only counts as one that grows; code that then takes the window for all tokens is
          stopped by dynamic-cache-seen-tokens-removed.
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
    """How many tokens the cache can hold, None where it grows."""
    return caches.maximum(self)
