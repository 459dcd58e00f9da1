"""GPTBigCode multiplies its attention scores by the root of the head size instead of dividing them.

Symptom   Silent. StarCoder and SantaCoder write garbage: attention is far too sharp.
Cause     ``head_dim ** 0.5`` in place of ``head_dim ** -0.5``.
Releases  4.54.0 to 4.55.0
Upstream  transformers#40041, transformers#38635 (fixed in 4.55.1)
Here      The sign of the exponent, where the scores are scaled. Equal to 4.55.1. Where ``scaling`` of a layer was set
          to another number, where a hook or a projection of the user's own changes queries or keys, and under an
          attention of the user's own, nothing changes.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="StarCoder, SantaCoder (GPTBigCode): attention is multiplied by sqrt(head_dim), output is garbage",
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
