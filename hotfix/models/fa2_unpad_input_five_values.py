"""flash-attn 2.7 returns one more value than the release unpacks, for several tokens after a cache in a padded batch.

Symptom   ``ValueError: too many values to unpack (expected 4)`` out of ``_upad_input``, under FlashAttention-2, where a
          batch with padding has more keys than queries, and more queries than one: a prompt that is read in parts, a
          conversation that continues from its cache, assisted decoding.
Cause     ``unpad_input`` returns five values since flash-attn 2.7.0. The release unpacks four.
Releases  4.43.0 to 4.48.3, with flash-attn 2.7.0 or later
Upstream  mosaicml/llm-foundry#1732, microsoft/LLaVA-Rad#17 (fixed in 4.49.0)
Here      The values after the fourth are ignored, as in 4.49.0.

Not here  4.36 to 4.42, where each model has a copy: flash-attn of that time is older than 2.7.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: too many values to unpack (expected 4), with flash-attn 2.7",
    kind="crash",
    needs={"flash-attn": ">=2.7"},
    upstream=("mosaicml/llm-foundry#1732", "microsoft/LLaVA-Rad#17"),
    fixed_in="4.49.0",
    errors=("ValueError: too many values to unpack (expected 4)",),
    on_error=True,
)

_FOUR = "query_layer, indices_q, cu_seqlens_q, max_seqlen_in_batch_q = unpad_input(query_layer, attention_mask)"

FIX.edits(
    ("transformers.modeling_flash_attention_utils:_upad_input", ">=4.43.0,<=4.48.3"),
    old=_FOUR,
    new="query_layer, indices_q, cu_seqlens_q, max_seqlen_in_batch_q, *_ = unpad_input(query_layer, attention_mask)",
)


@FIX.recognises
def is_broken(function: Any) -> bool:
    """It takes four values, and is no method: those are the copies of 4.36 to 4.42."""
    from hotfix.pattern import occurs

    return occurs(_FOUR, function) and function.args.args[0].arg != "self"
