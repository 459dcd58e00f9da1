"""Gemma2 under FlashAttention-2 has no sliding window, or cannot see past it where there is padding.

Symptom   4.43.0 to 4.44.0: silent; the layers with a sliding window attend to the whole context. 4.44.0: a batch with
          padding that is longer than the window raises ``ValueError: too many values to unpack (expected 4)``. 4.44.1
          to 4.46.3: with a cache only, in `generate` and, from 4.45.0 on, in evaluation. This is with flash-attn 2.7;
          with an earlier one the outputs silently belong to other queries and keys.
Cause     The window is not passed to the attention. Later the decoder layer cuts the padding mask to the window, which
          a step of decoding needs, for whole prompts and in training, too; the keys are then cut to the first ones.
Releases  4.43.0 to 4.46.3
Upstream  transformers#32522 (window, fixed in 4.44.1), transformers#35681 (mask, fixed in 4.48.2)
Here      The window is passed, and the mask keeps at least a column for each query. Bitwise equal to 4.48.2. There, as
          here, the window is one key too wide, which ``fa-sliding-window-off-by-one`` repairs. An attention with
          ``is_causal = False`` gets no window, nor does a function of your own in place of the common one, and the
          mask for an attention of your own is cut as in the release.

Not here  `generate` in 4.43.0 to 4.44.0 prepares a mask that FlashAttention-2 cannot take. In 4.42 and 4.47 Gemma2
          cannot run under it at all, or runs without soft cap. 4.48.0 and 4.48.1 have another bug, under every
          attention: `gemma2-cohere2-window-crash`.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2 under FlashAttention-2 ignores its sliding window, or fails past it in a padded batch",
    kind="silent",
    upstream=("transformers#32522", "transformers#35681"),
    fixed_in="4.44.1, 4.48.2",
    errors=("ValueError: too many values to unpack (expected 4)",),
    prefilter="self.sliding_window",
)

ATTENTION = "transformers.models.gemma2.modeling_gemma2:Gemma2FlashAttention2.forward"
LAYER = "transformers.models.gemma2.modeling_gemma2:Gemma2DecoderLayer.forward"

_CALL = """
_flash_attention_forward(
    *__STATES, dropout=__DROPOUT, softmax_scale=__SCALE, is_causal=__CAUSAL, use_top_left_mask=__MASK, softcap=__CAP{}
)
"""

FIX.edits(
    (ATTENTION, ">=4.43.0,<=4.44.0"),
    old=_CALL.format(""),
    new=_CALL.format(", sliding_window=self.sliding_window"),
    beside="self.sliding_window",
    when="""
        import hotfix.patching.scope as _scope
        self.is_causal and _scope.is_own("gemma2-fa2-no-window", _flash_attention_forward)
    """,
)

_CUT = "attention_mask = attention_mask[:, -{}:]"
_TO_THE_WINDOW = _CUT.format("self.sliding_window")
_TO_ALL_QUERIES = _CUT.format("max(hidden_states.shape[1], self.sliding_window)")

# A decoder layer is judged together with the attention under it, which has to be the one that cuts the keys. From
# 4.44.1 on it cuts the mask only where there is a cache.
FIX.edits(
    (LAYER, ">=4.44.0,<=4.46.3"),
    old=_TO_THE_WINDOW,
    new=_TO_ALL_QUERIES,
    beside=("self.config._attn_implementation == 'flash_attention_2'", "key_states = key_states[:, :, :seq_len]"),
    fingerprint_of=(LAYER, ATTENTION),
    own=("self.self_attn.forward",),
)
