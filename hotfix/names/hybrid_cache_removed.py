"""``HybridCache``, ``SinkCache``, ``OffloadedCache`` and their like are gone.

Symptom   ``ImportError: cannot import name 'HybridCache' from 'transformers'`` from peft before 0.18, liger-kernel,
          older optimum and remote code, which ask of a cache whether it is one.
Cause     The deprecated classes were removed.
Releases  5.0.0 and later
Upstream  transformers#44351, peft#3333, trl#4820 (not put back)
Here      Classes that inherit from what those of 4.57.6 inherited from, for ``import`` and ``isinstance``; no cache is
          an instance of one. Building one raises a sentence that says which cache to build: the layers of 5.x choose
          their kind by the configuration, and a cache that was written for one of these does not fit them unseen.
          `sliding-window-cache-removed` is the one that upstream put back.
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
    """A static cache of which some layers held a window only."""
    return hollow("HybridCache", LEAF, cache_utils.StaticCache, STATIC)


@FIX.adds_made((f"{LEAF}:HybridChunkedCache", LACKING), exported_by=("transformers",), only_needed=True)
def hybrid_chunked_cache(cache_utils: Any) -> type:
    """That of Llama 4."""
    return hollow("HybridChunkedCache", LEAF, cache_utils.StaticCache, STATIC)


@FIX.adds_made((f"{LEAF}:OffloadedHybridCache", LACKING), only_needed=True)
def offloaded_hybrid_cache(cache_utils: Any) -> type:
    """The first, kept in the memory of the host."""
    instead = STATIC.replace("max_cache_len=...", "max_cache_len=..., offloading=True")
    return hollow("OffloadedHybridCache", LEAF, cache_utils.StaticCache, instead)


@FIX.adds_made((f"{LEAF}:OffloadedCache", LACKING), exported_by=("transformers",), only_needed=True)
def offloaded_cache(cache_utils: Any) -> type:
    """A growing cache, kept in the memory of the host."""
    return hollow("OffloadedCache", LEAF, cache_utils.DynamicCache, "DynamicCache(offloading=True) is that cache.")


@FIX.adds_made((f"{LEAF}:SinkCache", LACKING), exported_by=("transformers",), only_needed=True)
def sink_cache(cache_utils: Any) -> type:
    """The one that 4.57.6 would not build either."""
    instead = 'generate(..., custom_generate="transformers-community/sink_cache", trust_remote_code=True) has it.'
    return hollow("SinkCache", LEAF, cache_utils.Cache, instead)
