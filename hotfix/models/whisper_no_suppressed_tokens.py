"""Whisper cannot generate if its list of suppressed tokens is empty.

Symptom   ``IndexError: index -2 is out of bounds for dimension 0 with size 0`` from ``generate`` of a Whisper with
          ``suppress_tokens=[]``, which recipes for fine-tuning set.
Cause     The last token but one of the list is taken for the one that begins a prompt, also where there is none.
Releases  4.37.0 to 4.49.0
Upstream  transformers#36336, fixed in 4.50.0
Here      After the error, a list with fewer than two tokens has none for the prompt, as in 4.50.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Whisper: IndexError: index -2 is out of bounds for dimension 0 with size 0, without suppressed tokens",
    kind="crash",
    upstream=("transformers#36336",),
    fixed_in="4.50.0",
    on_error=(
        "IndexError: index -2 is out of bounds for dimension 0 with size …",
        "IndexError: list index out of range",
    ),
)

FIX.edits(
    (
        "transformers.models.whisper.generation_whisper:WhisperGenerationMixin._prepare_decoder_input_ids",
        ">=4.37.0,<4.50.0",
    ),
    old="suppress_tokens[-2] if suppress_tokens is not None else None",
    new="suppress_tokens[-2] if suppress_tokens is not None and len(suppress_tokens) >= 2 else None",
)
