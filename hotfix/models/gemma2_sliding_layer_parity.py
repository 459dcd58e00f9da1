"""Gemma 2 has its sliding window in the wrong layers: those that should attend to the whole text have it.

Symptom   Silent for texts that are longer than the window (4096 tokens): results get worse. `generate` past the window
          fails in the cache: ``IndexError: index 4096 is out of bounds``.
Cause     Layers 1, 3, 5 have the window; the weights were trained with it in layers 0, 2, 4. The cache is as short as
          the window in the same layers, and reads the window from an argument that nothing passes.
Releases  4.42.0 to 4.42.3
Upstream  fixed in 4.42.4
Here      Layers and cache count from the first layer, and the cache reads the argument that is passed. Bitwise equal to
          4.42.4, whose cache has another bug: `hybrid-cache-window-hole`. A cache that exists already keeps its layout,
          so arm hotfix first. Caches for the configuration of another model are made as in the release.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2 has its sliding window in the wrong layers, and cannot generate past it",
    kind="silent",
    fixed_in="4.42.4",
    errors=("IndexError: index 4096 is out of bounds for dimension 0 with size 4096",),
    everyone="which layers have a window is part of the published weights; the cache is made from its configuration",
    exempt={"transformers.models.gemma2.diff_gemma2:Gemma2DecoderLayer.__init__": "nothing imports it"},
)

_RELEASES = ">=4.42.0,<=4.42.3"
_GEMMA2 = "transformers.models.gemma2.modeling_gemma2:Gemma2"
_CACHE = "transformers.cache_utils:HybridCache"

FIX.edits(
    (f"{_GEMMA2}Attention.__init__", _RELEASES),
    old="self.sliding_window = config.sliding_window if layer_idx % 2 else None",
    new="self.sliding_window = config.sliding_window if not layer_idx % 2 else None",
)

FIX.edits(
    (f"{_GEMMA2}DecoderLayer.__init__", _RELEASES),
    old="self.is_sliding = bool(layer_idx % 2)",
    new="self.is_sliding = not layer_idx % 2",
)

FIX.edits(
    (f"{_CACHE}.__init__", _RELEASES),
    old="[i % 2 for i in range(config.num_hidden_layers)]",
    new="[not i % 2 for i in range(config.num_hidden_layers)]",
    when="getattr(config, 'model_type', None) == 'gemma2'",
)

FIX.edits(
    (f"{_CACHE}.update", _RELEASES),
    old="if sliding_window: update_fn = self._sliding_update\nelse: update_fn = self._static_update",
    new="""
        if sliding_window or cache_kwargs.get("sliding_window"):
            update_fn = self._sliding_update
        else:
            update_fn = self._static_update
        """,
    unless="sliding_window = cache_kwargs.get('sliding_window')",
    when="self.max_cache_len > self.key_cache[layer_idx].shape[2]",  # else no text grows past the window
)
