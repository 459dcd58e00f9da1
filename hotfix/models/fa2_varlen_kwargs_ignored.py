"""FlashAttention-2 ignores the lengths of packed sequences unless there are position ids, too.

Symptom   Silent. Sequences packed into one row, with ``cu_seq_lens_q`` and the like from `DataCollatorWithFlattening`,
          attend to each other in every model whose attention does not pass its position ids on: Cohere2, and in 4.53.0
          also Persimmon and the decoders of Qwen2-VL and Qwen2.5-VL. The same happens in code that calls
          ``_flash_attention_forward`` with lengths alone.
Cause     The choice of the packed kernel asks for position ids first, although they are not used where there are
          lengths.
Releases  4.47.0 to 4.53.0
Upstream  transformers#39121 (fixed in 4.53.1)
Here      The packed kernel is chosen if all four lengths are given, or for the reasons of the release. Bitwise equal to
          4.53.1. Lengths that cannot belong to this call are ignored, as in the release: `generate` passes those of the
          prompt to later steps.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="FlashAttention-2 ignores cu_seq_lens_q without position_ids: packed sequences attend to each other",
    kind="silent",
    upstream=("transformers#39121",),
    fixed_in="4.53.1",
    everyone="only with all four lengths, and if they can be those of the call: the new code tests it",
)

_IMPORT = "from hotfix.models._attention import are_lengths_of"
_CHOICE = """
if {}:
    *__PACKED
else:
    *__WHOLE
"""
_BY_POSITIONS = (
    "position_ids is not None and (max_length_q is not None or __SPLIT)",
    "position_ids is not None and __ONE_ROW and (max_length_q is not None or __SPLIT)",  # 4.53.0
)
_BY_LENGTHS = """
    cu_seq_lens_q is not None and cu_seq_lens_k is not None and max_length_q is not None and max_length_k is not None
    and are_lengths_of(query_states, cu_seq_lens_q, max_length_q)
    and are_lengths_of(key_states, cu_seq_lens_k, max_length_k)
"""

FIX.edits(
    ("transformers.modeling_flash_attention_utils:_flash_attention_forward", ">=4.47.0,<=4.53.0"),
    old=[_CHOICE.format(condition) for condition in _BY_POSITIONS],
    new=[_IMPORT + _CHOICE.format(f"({_BY_LENGTHS}) or {condition}") for condition in _BY_POSITIONS],
    alternatives=True,
)
