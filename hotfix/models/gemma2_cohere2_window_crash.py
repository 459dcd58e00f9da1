"""Gemma 2 cannot generate past its sliding window; Cohere 2 attends to the wrong tokens there.

Symptom   Gemma 2: ``IndexError: index 4096 is out of bounds for dimension 0 with size 4096``. Cohere 2: silent under
          eager and sdpa attention; in a batch with padding, text generated past the window gets worse. Both, under
          FlashAttention-2 and a batch with padding: keys and mask have different lengths.
Cause     The attention of Gemma 2 does not pass its window to the cache. Past the window, the cache of such a layer
          holds the last tokens, and the mask is cut for the first ones; under FlashAttention-2 it is cut to the window
          only where there is a cache, and keys without a column in the mask are not cut off.
Releases  4.48.0 to 4.48.1
Upstream  transformers#35681 (fixed in 4.48.2)
Here      The cache gets the window, and each layer cuts its mask at the last token in the cache, which it takes from
          ``cache_position``: no other function has to pass it on. Bitwise equal to 4.48.2, whose cache has another bug:
          `hybrid-cache-window-hole`. Only a `HybridCache` drops tokens outside the window: with a `DynamicCache`
          nothing is cut. With a cache, a layer or an attention of your own, and in a layer that is called without
          ``cache_position``, the release's code runs.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2: IndexError past the sliding window in generate(); Cohere 2 attends to the wrong tokens",
    kind="silent",
    upstream=("transformers#35681",),
    fixed_in="4.48.2",
    errors=("IndexError: index 4096 is out of bounds for dimension 0 with size 4096",),
    prefilter="sliding_window",
)

_RELEASES = ">=4.48.0,<=4.48.1"
_GEMMA2 = "transformers.models.gemma2.modeling_gemma2:Gemma2"
_COHERE2 = "transformers.models.cohere2.modeling_cohere2:Cohere2"

_UPDATE = "key_states, value_states = past_key_value.update(key_states, value_states, self.layer_idx, cache_kwargs)"
# The cache has its final length; flash attention takes as many keys as the mask has columns.
_UPDATE_AND_CUT = f"""
{_UPDATE}
if attention_mask is not None and self.config._attn_implementation == "flash_attention_2":
    key_states = key_states[:, :, : attention_mask.shape[-1]]
    value_states = value_states[:, :, : attention_mask.shape[-1]]
"""
_KEPT = '{"sin": sin, "cos": cos, "cache_position": cache_position}'
# A cache that is no longer than the window drops nothing: for it, the release's own code is right.
_WINDOW = "self.sliding_window if past_key_value.max_cache_len > (self.sliding_window or 0) else None"
# Distinguishes the attention of both models from that of others, and of other releases.
_LEFT_ALONE = "seq_len = attention_mask.shape[-1]"
_ITS_OWN = (f"{_GEMMA2}Attention.forward", f"{_COHERE2}Attention.forward")
_LAYERS = (f"{_GEMMA2}DecoderLayer.forward", f"{_COHERE2}DecoderLayer.forward")

_HYBRID = f"import {__name__} as _own; cache_position is not None and _own.is_hybrid(past_key_value)"

FIX.edits(
    (_ITS_OWN[0], _RELEASES),
    old=(_KEPT, _UPDATE),
    new=(
        f"{_KEPT[:-1]}, 'sliding_window': {_WINDOW}}}",
        _UPDATE_AND_CUT,
    ),
    beside=("self.attn_logit_softcapping", "cache_kwargs.get('sliding_window')"),
    unless=_LEFT_ALONE,
    fingerprint_of=(_ITS_OWN[0], "transformers.cache_utils:HybridCache.update"),
    when=_HYBRID,
    own=("past_key_value.update",),
    along=(_LAYERS[0],),
)

FIX.edits(
    (_ITS_OWN[1], _RELEASES),
    old=_UPDATE,
    new=_UPDATE_AND_CUT,
    beside=(
        '{"sin": sin, "cos": cos, "sliding_window": self.sliding_window, "cache_position": cache_position}',
        "cache_kwargs.get('sliding_window')",
        # No other attention with a window rotates only where there is one.
        "if self.sliding_window is not None:\n    query_states, key_states = apply_rotary_pos_emb(*__STATES)",
    ),
    unless=_LEFT_ALONE,
    fingerprint_of=(_ITS_OWN[1], "transformers.cache_utils:HybridCache.update"),
    when=_HYBRID,
    own=("past_key_value.update",),
    along=(_LAYERS[1],),
)

# Up to 4.47 the layer is another one, whose flash attention is not cut so (gemma2-fa2-no-window).
for _layer, _judged in zip(_LAYERS, _ITS_OWN):
    FIX.edits(
        (_layer, _RELEASES),
        old=(
            "if past_key_value is not None: attention_mask = attention_mask[:, -self.sliding_window :]",
            """
            if attention_mask.shape[-1] <= 1:
                attention_mask = attention_mask[:, :, :, -self.sliding_window :]
            """,
        ),
        new=(
            f"""
            import {__name__} as _own
            if _own.is_hybrid(past_key_value):
                attention_mask = attention_mask[:, -max(cache_position.shape[0], self.sliding_window) :]
            """,
            f"""
            import {__name__} as _own
            if _own.is_hybrid(past_key_value):
                columns = min(max(cache_position.shape[0], self.sliding_window), attention_mask.shape[-1])
                first = (cache_position[-1] + 1 - columns).clamp(min=0, max=attention_mask.shape[-1] - columns)
                columns = first + torch.arange(columns, device=attention_mask.device)
                attention_mask = attention_mask.index_select(-1, columns)
            """,
        ),
        beside="attention_interface: Callable = eager_attention_forward",
        fingerprint_of=(_layer, _judged),
        when=f"import {__name__} as _own; cache_position is not None and _own.is_known(past_key_value)",
        own=("self.self_attn.forward", "past_key_value.update"),
        along=(_judged,),
    )


def is_hybrid(cache: Any) -> bool:
    """Whether a cache keeps only the last tokens in layers with a sliding window."""
    import transformers.cache_utils as caches

    return isinstance(cache, caches.HybridCache)


def is_known(cache: Any) -> bool:
    """Whether it is known which keys a cache returns: the last ones in layers with a window, or all."""
    import transformers.cache_utils as caches

    return isinstance(cache, (caches.HybridCache, caches.DynamicCache))
