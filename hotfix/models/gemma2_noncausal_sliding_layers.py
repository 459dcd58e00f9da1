"""Every second layer of Gemma 2 attends to future tokens.

Symptom   Silent. Losses are too good to be true, generated text is bad, and padding changes results.
Cause     In layers with a sliding window the additive mask is multiplied by a triangle of ones and zeros, which sets
          nearly all of it to 0.
Releases  4.42.0 to 4.42.1
Upstream  fixed in 4.42.2
Here      Tokens outside the window are masked, and masked tokens stay masked. Equal to 4.42.2, whose other bugs are
          gemma2-attn-softcap-missing and gemma2-sliding-layer-parity. A mask of a text within the window that masks
          nothing does not change, in any dtype. Nor does a mask of the program's own with which the first token sees
          the last one: it is not causal, and later releases take it as it is.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2: every second layer attends to future tokens and to padding",
    kind="silent",
    fixed_in="4.42.2",
    everyone="the formula is wrong, and no user code takes part in it",
    exempt={"transformers.models.gemma2.diff_gemma2:Gemma2DecoderLayer.forward": "nothing imports it"},
)

# The mask of flash attention has two dimensions; it has the window in another way.
FIX.edits(
    ("transformers.models.gemma2.modeling_gemma2:Gemma2DecoderLayer.forward", ">=4.42.0,<=4.42.1"),
    old="""
        if self.is_sliding and attention_mask is not None:
            attention_mask = attention_mask * __TRIANGLE
            *__REST
        """,
    new="""
        if self.is_sliding and attention_mask is not None and attention_mask.dim() == 4:
            outside = torch.ones_like(attention_mask, dtype=torch.bool).tril(-self.sliding_window)
            dtype = attention_mask.dtype
            if attention_mask.shape[-2] > 1:
                corner = attention_mask[..., :1, -1:]  # forbidden in each mask that the model makes
                outside = outside & (corner != 0 if dtype.is_floating_point else ~corner.bool())
            forbidden = torch.finfo(dtype).min if dtype.is_floating_point else 0  # a mask of bool has True for seen
            attention_mask = attention_mask.masked_fill(outside, forbidden)
        """,
)
