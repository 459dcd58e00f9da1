"""Every second layer of Gemma 2 sees the tokens that are still to come.

Symptom   Silent. Losses are too good to be true, what is generated is bad, and padding changes results.
Cause     In layers with a sliding window the mask is multiplied with a triangle of ones and zeros, which takes from it
          nearly all that it forbids.
Releases  4.42.0 to 4.42.1
Upstream  fixed in 4.42.2
Here      What is outside of the window is forbidden, and all that was forbidden stays so. Equal to 4.42.2, whose other
          bugs are gemma2-attn-softcap-missing and gemma2-sliding-layer-parity. A mask that forbids nothing, of a text
          within the window, stays what it is, in any dtype.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2: every second layer sees the tokens that are still to come, and padding",
    kind="silent",
    fixed_in="4.42.2",
    everyone="a formula is wrong that nobody else's code takes part in",
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
            forbidden = torch.finfo(dtype).min if dtype.is_floating_point else 0  # a mask of bool has True for seen
            attention_mask = attention_mask.masked_fill(outside, forbidden)
        """,
)
