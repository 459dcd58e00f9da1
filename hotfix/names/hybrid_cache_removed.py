"""``HybridCache``, ``SinkCache``, ``OffloadedCache`` and similar classes are gone.

Symptom   ``ImportError: cannot import name 'HybridCache' from 'transformers'`` from peft before 0.18, liger-kernel,
          older optimum and remote code, which use them in `isinstance` checks.
Cause     The deprecated classes were removed.
Releases  5.0.0 and later
Upstream  transformers#44351, peft#3333, trl#4820 (not put back)
Here      Classes with the base classes of 4.57.6, for ``import`` and ``isinstance``; no cache is an instance. Building
          one is an error that names the cache to build: in 5.x the configuration decides the kind of each layer.
          Upstream restored one of them: `sliding-window-cache-removed`.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.refusing import hollow

FIX = Fix(
    title="ImportError: cannot import name 'HybridCache' from 'transformers'",
    kind="removed-api",
    upstream=("transformers#44351", "peft#3333", "trl#4820"),
    group="removed-names",
)

LACKING = ">=5.0.0"
LEAF = "transformers.cache_utils"
STATIC = "StaticCache(config=config, max_cache_len=...) chooses the kind of each layer by the configuration."


@FIX.adds_made((f"{LEAF}:HybridCache", LACKING), exported_by=("transformers",), only_needed=True)
def hybrid_cache(cache_utils: Any) -> type:
    """A static cache with some layers that keep only a window."""
    return hollow("HybridCache", LEAF, cache_utils.StaticCache, STATIC)


@FIX.adds_made((f"{LEAF}:HybridChunkedCache", LACKING), exported_by=("transformers",), only_needed=True)
def hybrid_chunked_cache(cache_utils: Any) -> type:
    """The one of Llama 4."""
    return hollow("HybridChunkedCache", LEAF, cache_utils.StaticCache, STATIC)


@FIX.adds_made((f"{LEAF}:OffloadedHybridCache", LACKING), only_needed=True)
def offloaded_hybrid_cache(cache_utils: Any) -> type:
    """A hybrid cache in host memory."""
    instead = STATIC.replace("max_cache_len=...", "max_cache_len=..., offloading=True")
    return hollow("OffloadedHybridCache", LEAF, cache_utils.StaticCache, instead)


@FIX.adds_made((f"{LEAF}:OffloadedCache", LACKING), exported_by=("transformers",), only_needed=True)
def offloaded_cache(cache_utils: Any) -> type:
    """A growing cache in host memory."""
    return hollow("OffloadedCache", LEAF, cache_utils.DynamicCache, "DynamicCache(offloading=True) is that cache.")


@FIX.adds_made((f"{LEAF}:SinkCache", LACKING), exported_by=("transformers",), only_needed=True)
def sink_cache(cache_utils: Any) -> type:
    """The class that 4.57.6 also refuses to build."""
    instead = 'generate(..., custom_generate="transformers-community/sink_cache", trust_remote_code=True) has it.'
    return hollow("SinkCache", LEAF, cache_utils.Cache, instead)
