"""Gemma 2, Gemma 3 and Cohere 2 decode with a hole in their sliding window, once a text grows past it.

Symptom   Silent. When a prompt shorter than the window (4096 tokens in Gemma 2 and Cohere 2, 512 or 1024 in Gemma 3)
          gets an answer that grows past it, the rest of the answer is wrong. The same with
          ``cache_implementation="sliding_window"``.
Cause     The token that fills the last place of a sliding layer's cache shifts all others by one, as if the cache had
          been full. The first token is lost one step too early, and one empty place is attended to until it has been
          shifted out, a whole window later.
Releases  4.42.0 to 4.51.3, of which Gemma 2 does not meet it before 4.42.4; Llama 4's cache in 4.51.1
Upstream  transformers#37574, transformers#38046 (fixed in 4.52.1; Llama 4 in 4.51.2)
Here      The cache shifts when it is full, as in 4.52.1: behind the window, or if a single token is written to a last
          place that has content. A program that clamps the positions to the window itself therefore goes on as in the
          release.

Not here  RecurrentGemma, which keeps such a cache in its attention, up to 5.3.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2, Gemma 3 and Cohere 2 generate wrong text once it grows past the sliding window",
    kind="silent",
    upstream=("transformers#37574", "transformers#38046"),
    fixed_in="4.52.1",
    everyone="a comparison is off by one: only the step that fills the last place changes",
    prefilter="to_shift = cache_position >=",
    exempt={
        "transformers.models.recurrent_gemma.modeling_recurrent_gemma:RecurrentGemmaSdpaAttention._update_cache": (
            "It is broken, but no case shows it yet, and 5.4.0 has no such method to compare with."
        )
    },
)

_CACHES = "transformers.cache_utils"

FIX.edits(
    (f"{_CACHES}:HybridCache._sliding_update", ">=4.42.0,<=4.51.3"),
    (f"{_CACHES}:HybridChunkedCache._sliding_update", "==4.51.1"),
    (f"{_CACHES}:SlidingWindowCache.update", ">=4.42.0,<=4.51.3"),
    old="""
        cache_position = cache_position.clamp(0, __LENGTH - 1)
        to_shift = cache_position >= __LENGTH - 1
    """,
    new="""
        to_shift = cache_position > __LENGTH - 1
        if cache_position.shape[0] == 1 and not self.key_cache[layer_idx].is_meta:
            content = self.key_cache[layer_idx][:, :, -1].ne(0).any().to(cache_position.device)
            to_shift = to_shift | (content & (cache_position == __LENGTH - 1))
        cache_position = cache_position.clamp(0, __LENGTH - 1)
    """,
)
