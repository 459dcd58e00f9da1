"""GPTBigCode multiplies its attention scores by the root of the head size instead of dividing them.

Symptom   Silent. StarCoder and SantaCoder write garbage: attention is far too sharp.
Cause     ``head_dim ** 0.5`` in place of ``head_dim ** -0.5``.
Releases  4.54.0 to 4.55.0
Upstream  transformers#40041, transformers#38635 (fixed in 4.55.1)
Here      The scores are scaled by ``head_dim ** -0.5``. Equal to 4.55.1. Nothing changes where ``scaling`` of a layer
          was set to another number, where a custom hook or projection changes queries or keys, and under a custom
          attention.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="StarCoder, SantaCoder (GPTBigCode) write garbage: attention scores are multiplied by sqrt(head_dim)",
    kind="silent",
    upstream=("transformers#40041", "transformers#38635"),
    fixed_in="4.55.1",
    when="""
import hotfix.models._registered as _registered
import hotfix.models._projections as _projections
(
    self.scaling == self.head_dim**0.5
    and _projections.are_known("gptbigcode-inverse-scale", self.c_attn)
    and _registered.is_own("gptbigcode-inverse-scale", self.config, eager_attention_forward)
)
""",
)

_CALL = (
    "attention_interface("
    "self, query, key, value, attention_mask, dropout=__RATE, scaling={}, head_mask=__HEADS, **kwargs)"
)

FIX.edits(
    ("transformers.models.gpt_bigcode.modeling_gpt_bigcode:GPTBigCodeAttention.forward", ">=4.54.0,<=4.55.0"),
    old=_CALL.format("self.scaling"),
    new=_CALL.format("self.head_dim**-0.5"),
    beside="self.scaling = self.head_dim**0.5 if config.scale_attn_weights else 1.0",
    fingerprint_of=("GPTBigCodeAttention.forward", "GPTBigCodeAttention.__init__"),
)
