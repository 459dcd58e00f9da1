"""Caches have no ``seen_tokens`` and no ``get_usable_length`` any more.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'seen_tokens'``, and
          ``AttributeError: 'DynamicCache' object has no attribute 'get_usable_length'``, from remote code of Phi-3,
          MiniCPM, InternLM-XComposer and others in ``generate()``.
Cause     Both were removed when caches became lists of layers.
Releases  4.54.0 and later
Upstream  transformers#32855 (not put back)
Here      What 4.53.3 gave: the number of tokens that the first layer has seen (None for a cache of a fixed size, which
          did not count), and the length that is left when new tokens come, by the maximum. Since 4.56.0 a cache that
          was made by a configuration with a sliding window drops what is outside of it. As long as it has dropped
          nothing it is as good as the old one; after that ``get_usable_length`` is refused with a sentence, since old
          code takes the number of tokens seen for the number of keys.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.names import caches

FIX = Fix(
    title="AttributeError: 'DynamicCache' object has no attribute 'seen_tokens' or 'get_usable_length'",
    kind="removed-api",
    upstream=("transformers#32855",),
    group="removed-names",
    errors=(
        "AttributeError: '…Cache' object has no attribute 'seen_tokens'",
        "AttributeError: '…Cache' object has no attribute 'get_usable_length'",
    ),
)

LACKING = ">=4.54.0"
CACHE = "transformers.cache_utils:Cache"


@FIX.adds((f"{CACHE}.get_usable_length", LACKING))
def get_usable_length(self: Any, new_seq_length: int, layer_idx: Optional[int] = 0) -> Any:
    """How many tokens of a layer stay when new ones come."""
    return caches.usable_length(self, new_seq_length, layer_idx)


@FIX.adds_made((f"{CACHE}.seen_tokens", LACKING))
def seen_tokens(cache_utils: Any) -> caches.ReadOnly:
    """How many tokens the first layer has seen."""

    def seen_tokens(self: Any) -> Any:
        """How many tokens the first layer has seen; None for a cache of a fixed size."""
        grows = not isinstance(self, cache_utils.EncoderDecoderCache) and caches.maximum(self) is None
        return self.get_seq_length() if grows else None

    return caches.ReadOnly(seen_tokens)
