"""`generate` cannot run under flash attention.

Symptom   ``NameError: name 'prepare_fa_kwargs_from_position_ids' is not defined`` in 4.55.1. In 4.55.2 `generate` runs,
          and is silently wrong if it continues from a cache with more than one new token: a second turn of a
          conversation.
Cause     The preparation of each step computes the lengths of the sequences once for all layers, with a function that
          its module does not import in 4.55.1. The function takes every step with several tokens for the first one.
Releases  4.55.1, 4.55.2
Upstream  transformers#40029 (imported in 4.55.2), transformers#40161 (the computation is gone in 4.55.3)
Here      The computation is taken out. Bitwise equal to 4.55.3.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="generate-fa2-nameerror",
    title="generate() under flash attention raises NameError: prepare_fa_kwargs_from_position_ids is not defined",
    kind="crash",
    upstream=("transformers#40029", "transformers#40161"),
    fixed_in="4.55.3",
)

FIX.edits(
    ("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation", ">=4.55.1,<=4.55.2"),
    old="""
        if 'flash' in self.config._attn_implementation and __SUPPORTED:
            __LENGTHS = prepare_fa_kwargs_from_position_ids(*__POSITIONS, **__OPTIONS)
            model_inputs.update(cu_seq_lens_q=__Q, cu_seq_lens_k=__K, max_length_q=__MAX_Q, max_length_k=__MAX_K)
    """,
    new="",
)
