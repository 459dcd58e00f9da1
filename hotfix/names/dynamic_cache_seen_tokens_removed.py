"""Caches no longer have ``seen_tokens`` and ``get_usable_length``.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'seen_tokens'``, and
          ``AttributeError: 'DynamicCache' object has no attribute 'get_usable_length'``, from remote code of Phi-3,
          MiniCPM, InternLM-XComposer and others in ``generate()``; the same of ``_seen_tokens``, which a cache of your
          own counts up in its ``update``, as DynamicCacheWithRepeat of MInference.
Cause     Both were removed when caches became lists of layers.
Releases  4.54.0 and later
Upstream  transformers#32855 (not put back)
Here      The results of 4.53.3: the number of tokens that the first layer has seen (None for a cache of a fixed size,
          which did not count), and the length that remains when new tokens are added. Since 4.56.0 a cache built from a
          configuration with a sliding window drops tokens outside of it. Once it has, ``get_usable_length`` raises an
          error with an explanation, since old code takes the number of tokens seen for the number of keys.
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
        "AttributeError: '…' object has no attribute '_seen_tokens'",
    ),
)

LACKING = ">=4.54.0"
CACHE = "transformers.cache_utils:Cache"


@FIX.adds((f"{CACHE}.get_usable_length", LACKING))
def get_usable_length(self: Any, new_seq_length: int, layer_idx: Optional[int] = 0) -> Any:
    """The number of tokens that a layer keeps when new ones are added."""
    return caches.usable_length(self, new_seq_length, layer_idx)


@FIX.adds_made((f"{CACHE}.seen_tokens", LACKING))
def seen_tokens(cache_utils: Any) -> caches.ReadOnly:
    """The number of tokens that the first layer has seen."""

    def seen_tokens(self: Any) -> Any:
        """The number of tokens that the first layer has seen; None for a cache of a fixed size."""
        grows = not isinstance(self, cache_utils.EncoderDecoderCache) and caches.maximum(self) is None
        return self.get_seq_length() if grows else None

    return caches.ReadOnly(seen_tokens)


@FIX.adds_made(("transformers.cache_utils:DynamicCache._seen_tokens", LACKING), of_instances=True)
def own_count(cache_utils: Any) -> caches.ReadOnly:
    """What a growing cache had counted, before the program sets the attribute."""

    def _seen_tokens(self: Any) -> int:
        """The number of tokens in the first layer.

        Raises:
            AttributeError: the cache has a fixed size, and never had the attribute.
        """
        if isinstance(self, cache_utils.EncoderDecoderCache) or caches.maximum(self) is not None:
            raise AttributeError("_seen_tokens")
        return int(cache_utils.Cache.get_seq_length(self))

    return caches.ReadOnly(_seen_tokens)
