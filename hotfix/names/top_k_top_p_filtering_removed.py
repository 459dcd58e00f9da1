"""``top_k_top_p_filtering`` is gone from transformers.

Symptom   ``ImportError: cannot import name 'top_k_top_p_filtering' from 'transformers'`` from trl before 0.8,
          starcoder2, HistoGPT and demonstrations of Falcon.
Cause     The function was removed, after it had been replaced by ``TopKLogitsWarper`` and ``TopPLogitsWarper``.
Releases  4.39.0 and later
Upstream  trl#1409 (not put back)
Here      The two, one after the other, as in 4.38.2. There is no deprecation warning.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'top_k_top_p_filtering' from 'transformers'",
    kind="removed-api",
    upstream=("trl#1409",),
    group="removed-names",
)


@FIX.adds(
    ("transformers.generation.utils:top_k_top_p_filtering", ">=4.39.0"),
    exported_by=("transformers.generation", "transformers"),
)
def top_k_top_p_filtering(
    logits: Any, top_k: int = 0, top_p: float = 1.0, filter_value: float = -float("inf"), min_tokens_to_keep: int = 1
) -> Any:
    """Keep the likeliest tokens.

    Args:
        logits: of shape (batch, vocabulary).
        top_k: the number of tokens to keep; 0 for all.
        top_p: the minimum sum of their probabilities; more than 1 for all.
        filter_value: the logit of all others.
        min_tokens_to_keep: the minimum number of tokens to keep.
    """
    from transformers.generation.logits_process import TopKLogitsWarper, TopPLogitsWarper

    how = {"filter_value": filter_value, "min_tokens_to_keep": min_tokens_to_keep}
    warpers: list[Any] = [TopKLogitsWarper(top_k=top_k, **how)] if top_k > 0 else []
    warpers += [TopPLogitsWarper(top_p=top_p, **how)] if 0 <= top_p <= 1 else []
    for warp in warpers:
        logits = warp(None, logits)  # neither reads the previous tokens
    return logits
