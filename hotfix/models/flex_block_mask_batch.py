"""Under flex attention, every text of a batch has the blocks of the mask of the first one.

Symptom   Silent. With ``attn_implementation="flex_attention"`` blocks of 128 tokens that are nothing but padding, or of
          other packed texts, in the first row are left out for the whole batch, and what may be seen as a whole in the
          first row is seen by all, padding or not. Texts of one block are right. Models other than Llama 4 fail
          before: ``TypeError: pad(): argument 'pad' must be tuple of ints`` (their length is not given).
Cause     The block mask is made for a batch of one, whose list of blocks is broadcast, and the lengths have no default.
Releases  4.51.0
Upstream  fixed in 4.51.1
Here      The mask is made for the batch, with the length of the mask where no other is given. Equal to 4.51.1. A batch
          of one whose lengths are given is left alone.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Under flex attention every text of a batch has the padding and packing of the first one",
    kind="silent",
    fixed_in="4.51.1",
    errors=("TypeError: pad(): argument 'pad' must be tuple of ints…",),
    when="attention_mask_2d.shape[0] > 1 or not key_length or not query_length",
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
