"""The vision and audio encoders of Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and GLM-4V crash under FlashAttention.

Symptom   ``AttributeError: 'Qwen2_5_VLVisionAttention' object has no attribute 'is_causal'`` and the like, in the first
          forward with an image; ``IndexError: index 15 is out of bounds …`` in the audio encoder of Qwen2.5-Omni.
Cause     The attention of these encoders does not fit the interface of FlashAttention: it has no ``is_causal``, makes a
          4D mask, and passes the lengths of images, windows and pieces of sound under other names; GLM-4V does not pass
          them on at all.
Releases  4.53.0
Upstream  transformers#39095, transformers#39121, transformers#39231 (fixed in 4.53.1)
Here      Under FlashAttention no mask is made, and the lengths have the right names, with position ids: without these
          the release ignores them (fa2-varlen-kwargs-ignored). Bitwise equal to 4.53.1. Nothing changes under another
          attention, nor under a custom one, whatever its name.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Qwen2-VL, Qwen2.5-VL, GLM-4V: VisionAttention has no attribute 'is_causal' under FlashAttention",
    kind="crash",
    upstream=("transformers#39095", "transformers#39121", "transformers#39231"),
    fixed_in="4.53.1",
    errors=(
        "AttributeError: '…VisionAttention' object has no attribute 'is_causal'",
        "AttributeError: '…AudioAttention' object has no attribute 'is_causal'",
        "IndexError: index … is out of bounds for dimension …",
    ),
    when="import hotfix.models._registered as _registered; _registered.is_flash(self.config)",
    prefilter="attention_mask[..., cu_seqlens[i - 1] : cu_seqlens[i]",
)

_OLD = (
    "attention_mask = __MADE([1, 1, __QUERIES, __KEYS], *__LEAST, **__LIKE)",
    "for i in range(1, len(cu_seqlens)): attention_mask[..., __ROWS, __COLUMNS] = __VALUE",
    "attn_output, _ = attention_interface(self, query_states, key_states, value_states, attention_mask, **__REST)",
)


def _without_a_mask(lengths: str) -> tuple[str, ...]:
    """Make no mask, do not fill it, and pass more arguments to the interface."""
    return "attention_mask = None", "pass", f"{lengths}\n{_OLD[2]}"


# Position ids are not read where there are lengths, and have to be there for the lengths to be.
_LENGTHS = """\
self.is_causal = False
kwargs.update(cu_seq_lens_q=cu_seqlens, cu_seq_lens_k=cu_seqlens, max_length_q=max_seqlen, max_length_k=max_seqlen)
kwargs.update(position_ids=cu_seqlens)"""
_LONGEST = "max_seqlen = (cu_seqlens[1:] - cu_seqlens[:-1]).max().item()\n"  # where it is not known yet

FIX.edits(
    ("transformers.models.qwen2_vl.modeling_qwen2_vl:VisionAttention.forward", "==4.53.0"),
    ("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VLVisionAttention.forward", "==4.53.0"),
    ("transformers.models.qwen2_5_omni.modeling_qwen2_5_omni:Qwen2_5OmniVisionAttention.forward", "==4.53.0"),
    ("transformers.models.qwen2_5_omni.modeling_qwen2_5_omni:Qwen2_5OmniAudioAttention.forward", "==4.53.0"),
    old=_OLD,
    new=_without_a_mask(_LENGTHS),
)
FIX.edits(
    ("transformers.models.glm4v.modeling_glm4v:Glm4vVisionAttention.forward", "==4.53.0"),
    old=_OLD,
    new=_without_a_mask(_LONGEST + _LENGTHS),
)
