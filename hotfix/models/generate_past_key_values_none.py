"""``generate(past_key_values=None)`` raises a TypeError.

Symptom   ``TypeError: 'NoneType' object is not subscriptable`` in ``_get_initial_cache_position``, from code that
          passes ``past_key_values=None``.
Cause     The release checks only whether the argument was passed, not whether it is None.
Releases  4.41.0 to 4.41.2
Upstream  fixed in 4.42.0
Here      None means no cache, as in 4.40.2 and 4.42.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="generate(past_key_values=None): TypeError: 'NoneType' object is not subscriptable",
    kind="crash",
    fixed_in="4.42.0",
    on_error=("TypeError: 'NoneType' object is not subscriptable",),
)

FIX.edits(
    ("transformers.generation.utils:GenerationMixin._get_initial_cache_position", ">=4.41.0,<4.42.0"),
    old="""
        if "past_key_values" in model_kwargs:
            if isinstance(model_kwargs["past_key_values"], Cache):
                past_length = model_kwargs["past_key_values"].get_seq_length()
            else:
                past_length = model_kwargs["past_key_values"][0][0].shape[2]
    """,
    new="""
        if model_kwargs.get("past_key_values") is not None:
            if isinstance(model_kwargs["past_key_values"], Cache):
                past_length = model_kwargs["past_key_values"].get_seq_length()
            else:
                past_length = model_kwargs["past_key_values"][0][0].shape[2]
    """,
)
