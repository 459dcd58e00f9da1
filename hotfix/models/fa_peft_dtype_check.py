"""FlashAttention-2 refuses float32 queries and keys where the values are in half precision.

Symptom   ``RuntimeError: FlashAttention only support fp16 and bf16 data type`` in the first attention layer: for
          weights in float32 under autocast (``bf16=True`` or ``fp16=True`` of the Trainer), where the rotary embedding
          makes queries and keys float32; and for LoRA on models with norms of queries and keys, which are kept in
          float32.
Cause     The check that casts everything back to half precision reads the dtype of the values, which no norm and no
          rotary embedding changes. Its caller chooses the dtype to cast to by that of the queries.
Releases  4.48.0 to 4.48.3. The check is the same in 4.47, where only GPT-NeoX goes through it, and chooses by the
          values too.
Upstream  transformers#35834 (fixed in 4.49.0)
Here      The dtype of the queries is read where it is float32, and that of the values elsewhere. Bitwise equal to
          4.49.0, which no longer casts values that alone are float32. A kernel of your own in place of flash-attn's
          gets what the release gives it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="RuntimeError: FlashAttention only support fp16 and bf16 data type, under autocast or with LoRA",
    kind="crash",
    upstream=("transformers#35834",),
    fixed_in="4.49.0",
    errors=("RuntimeError: FlashAttention only support fp16 and bf16 data type",),
    when="""
import hotfix.models._kernels as _kernels
target_dtype is not None and query.dtype == torch.float32 != value.dtype and (
    _kernels.are_own_in("fa-peft-dtype-check", __name__)
)
""",
    prefilter="def fa_peft_integration_check",
)

CHECK = "transformers.modeling_flash_attention_utils:fa_peft_integration_check"
CALLER = "transformers.integrations.flash_attention:flash_attention_forward"

FIX.edits(
    (CHECK, ">=4.48.0,<=4.48.3"),
    old="input_dtype = value.dtype",
    new="input_dtype = query.dtype",
    beside="query.dtype == torch.float32",  # the caller's condition
    fingerprint_of=(CHECK, CALLER),
)
