"""Under flex attention, every text of a batch gets the mask blocks of the first one.

Symptom   Silent. With ``attn_implementation="flex_attention"``, blocks of 128 tokens that the first row skips, as
          padding or as other packed texts, are skipped in the whole batch, and blocks that it sees completely are
          visible in every row, padding included. Texts of one block are right. Models other than Llama 4 fail before:
          ``TypeError: pad(): argument 'pad' must be tuple of ints`` (they do not pass the length).
Cause     The block mask is made for a batch of one and broadcast; the lengths have no default.
Releases  4.51.0
Upstream  fixed in 4.51.1
Here      The mask is made for the batch, with the length of the mask where no other is given. Equal to 4.51.1. A batch
          of one with both lengths is left alone.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="flex_attention uses the padding and packing of the first row for the whole batch",
    kind="silent",
    fixed_in="4.51.1",
    errors=("TypeError: pad(): argument 'pad' must be tuple of ints…",),
    when="""
import hotfix.patching.scope as _scope
(
    attention_mask_2d.shape[0] > 1
    if key_length and query_length
    else not _scope.is_handled_around("flex-block-mask-batch", TypeError)
)
""",
    prefilter="attention_mask_2d",
)

_PADDED = "attention_mask_2d = torch.nn.functional.pad(attention_mask_2d, value=0, pad=(0, key_length))"

FIX.edits(
    ("transformers.integrations.flex_attention:make_flex_block_causal_mask", "==4.51.0"),
    old=(_PADDED, "create_block_causal_mask_flex(mask_mod=__MASK, B=1, **__OTHERS)"),
    new=(
        f"""
        key_length = key_length or attention_mask_2d.shape[1]
        query_length = query_length or attention_mask_2d.shape[1]
        {_PADDED}
        """,
        "create_block_causal_mask_flex(mask_mod=__MASK, B=attention_mask_2d.shape[0], **__OTHERS)",
    ),
)
