"""Tokenizers have no ``clean_up_tokenization``.

Symptom   ``AttributeError: InternLM2Tokenizer has no attribute clean_up_tokenization`` from ``decode`` of remote
          tokenizers that call it themselves.
Cause     The static method was removed from ``PreTrainedTokenizerBase``.
Releases  5.0.0 to 5.2.0
Upstream  vllm#30566; restored in 5.3.0
Here      The static method, which removes blanks before punctuation and in English contractions.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: InternLM2Tokenizer has no attribute clean_up_tokenization",
    kind="removed-api",
    upstream=("vllm#30566",),
    fixed_in="5.3.0",
    group="removed-names",
    errors=(
        "AttributeError: …Tokenizer… has no attribute clean_up_tokenization",
        "AttributeError: '…Tokenizer…' object has no attribute 'clean_up_tokenization'",
    ),
)

LEAF = "transformers.tokenization_utils_base"
NAME = "PreTrainedTokenizerBase.clean_up_tokenization"
# The text after the blank, in the order of replacement: one replacement can create the match of the next.
ENDINGS = (".", "?", "!", ",", "' ", "n't", "'m", "'s", "'ve", "'re")


@FIX.adds_made((f"{LEAF}:{NAME}", ">=5.0.0,<=5.2.0"))
def clean_up_tokenization(base: Any) -> staticmethod[[str], str]:
    """A static method, as it was."""

    def clean_up_tokenization(out_string: str) -> str:
        for ending in ENDINGS:
            out_string = out_string.replace(f" {ending}", ending.rstrip(" "))
        return out_string

    clean_up_tokenization.__module__, clean_up_tokenization.__qualname__ = LEAF, NAME
    return staticmethod(clean_up_tokenization)
