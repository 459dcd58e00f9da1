"""GPTBigCode multiplies its attention scores by the root of the head size instead of dividing them.

Symptom   Silent. StarCoder and SantaCoder write garbage: attention is far too sharp.
Cause     ``head_dim ** 0.5`` in place of ``head_dim ** -0.5``.
Releases  4.54.0 to 4.55.0
Upstream  transformers#40041, transformers#38635 (fixed in 4.55.1)
Here      The sign of the exponent. Equal to 4.55.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="gptbigcode-inverse-scale",
    title="StarCoder, SantaCoder (GPTBigCode): attention is multiplied by sqrt(head_dim), output is garbage",
    kind="silent",
    upstream=("transformers#40041", "transformers#38635"),
    fixed_in="4.55.1",
)

FIX.edits(
    ("transformers.models.gpt_bigcode.modeling_gpt_bigcode:GPTBigCodeAttention.__init__", ">=4.54.0,<=4.55.0"),
    old="self.scaling = self.head_dim**0.5 if config.scale_attn_weights else 1.0",
    new="self.scaling = self.head_dim**-0.5 if config.scale_attn_weights else 1.0",
)
