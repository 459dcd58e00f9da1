"""Newer peft cannot be imported: ``EncoderDecoderCache`` and ``HybridCache`` are missing from ``transformers``.

Symptom   ``ImportError: cannot import name 'EncoderDecoderCache' from 'transformers'`` from peft 0.14 and later, and so
          from diffusers and ComfyUI; peft 0.15 to 0.17 also import ``HybridCache``.
Cause     peft imports the classes of later releases for `isinstance` checks.
Releases  ``EncoderDecoderCache`` before 4.43.0; ``HybridCache`` before 4.42.0, at top level before 4.44.0
Upstream  peft#2292; the classes came with 4.42.0 and 4.43.0
Here      Classes that inherit from `Cache`, for ``import`` and ``isinstance``: no cache of these releases is an
          instance. Building one is an error with an explanation. If `transformers.cache_utils` already has the class,
          the package exports it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.refusing import hollow

FIX = Fix(
    title="ImportError: cannot import name 'EncoderDecoderCache' from 'transformers'",
    kind="removed-api",
    upstream=("peft#2292",),
    fixed_in="4.44.0",
    group="removed-names",
)

LEAF = "transformers.cache_utils"
INSTEAD = "transformers {} has it."


@FIX.adds_made((f"{LEAF}:EncoderDecoderCache", "<=4.42.4"), exported_by=("transformers",))
def encoder_decoder_cache(cache_utils: Any) -> type:
    """A pair of caches, which these releases keep as a tuple."""
    return hollow("EncoderDecoderCache", LEAF, cache_utils.Cache, INSTEAD.format("4.43.0"))


@FIX.adds_made((f"{LEAF}:HybridCache", "<=4.41.2"), exported_by=(("transformers", "<=4.43.4"),))
def hybrid_cache(cache_utils: Any) -> type:
    """A cache with some layers that keep only a window."""
    return hollow("HybridCache", LEAF, cache_utils.Cache, INSTEAD.format("4.42.0"))
