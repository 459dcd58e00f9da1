"""``bytes_to_unicode`` is gone from the tokenizers of GPT-2 and its relatives.

Symptom   ``ImportError: cannot import name 'bytes_to_unicode' from 'transformers.models.gpt2.tokenization_gpt2'``, from
          the tokenizers of Kimi-K2, Moonlight and other remote code that counts in bytes.
Cause     These tokenizers are built by the tokenizers library alone since 5.0.0; the function moved to
          ``transformers.convert_slow_tokenizer``.
Releases  5.0.0 and later
Upstream  not put back
Here      Another name of what moved, in each module that had it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'bytes_to_unicode' from 'transformers.models.gpt2.tokenization_gpt2'",
    kind="removed-api",
    group="removed-names",
)

MODELS = ("gpt2", "bart", "clip", "codegen", "deberta", "qwen2", "roberta", "whisper")


@FIX.adds_made(*((f"transformers.models.{model}.tokenization_{model}:bytes_to_unicode", ">=5.0.0") for model in MODELS))
def bytes_to_unicode(tokenization: Any) -> Any:
    """The function under its new address."""
    from importlib import import_module

    return import_module("transformers.convert_slow_tokenizer").bytes_to_unicode
