"""Assisted generation and prompt lookup fail for a model without an end token.

Symptom   ``AttributeError: 'NoneType' object has no attribute 'shape'`` from ``generate`` with an ``assistant_model``
          or ``prompt_lookup_num_tokens``.
Cause     The last token of a proposal is compared with the end tokens, without asking whether there are any.
Releases  4.37.0 to 4.39.3
Upstream  transformers#27775 (a comment reports it), fixed in 4.40.0
Here      Without end tokens no proposal ends, unless the program handles the error. The tokens are those of 4.40.0.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: 'NoneType' object has no attribute 'shape' in assisted generation without an end token",
    kind="crash",
    upstream=("transformers#27775",),
    fixed_in="4.40.0",
    errors=("AttributeError: 'NoneType' object has no attribute 'shape'",),
    everyone="only without an end token, where the release raises: the new code tests it",
)

_ENDS = (
    "~candidate_input_ids[:, -1].tile(eos_token_id_tensor.shape[0], 1).ne(eos_token_id_tensor.unsqueeze(1))"
    ".prod(dim=0).bool()"
)

FIX.edits(
    ("transformers.generation.utils:GenerationMixin.assisted_decoding", ">=4.37.0,<=4.38.2"),
    ("transformers.generation.utils:GenerationMixin._assisted_decoding", ">=4.39.0,<=4.39.3"),
    old=f"last_assistant_token_is_eos = {_ENDS}",
    new=f"""
        from {__name__} import never_ends
        if eos_token_id_tensor is None and never_ends():
            last_assistant_token_is_eos = False
        else:
            last_assistant_token_is_eos = {_ENDS}
    """,
)


def never_ends() -> Any:
    """Whether a text without an end token goes on; not where the program handles the error."""
    return not scope.is_handled(FIX.id, AttributeError, sys._getframe(1))
