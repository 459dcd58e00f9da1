"""Tokenizers no longer have ``additional_special_tokens`` and ``additional_special_tokens_ids``.

Symptom   ``AttributeError: Qwen2Tokenizer has no attribute additional_special_tokens`` in training and serving code
          that looks for markers of a chat, such as ``<|im_end|>``.
Cause     Both were renamed to ``extra_special_tokens`` and ``extra_special_tokens_ids``.
Releases  5.0.0 and later
Upstream  not put back
Here      Both read what the new names give. Assigning to them sets an attribute, as in the release, and no tokens.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: Qwen2Tokenizer has no attribute additional_special_tokens",
    kind="removed-api",
    group="removed-names",
    errors=("AttributeError: …Tokenizer… has no attribute additional_special_tokens…",),
)

_BACKENDS = ("tokenization_utils_tokenizers:TokenizersBackend", "tokenization_python:PythonBackend")
"""Classes of 5.x. The base class answers for the old names in 4.47.0 to 4.57.6 without having them."""


def _backends(name: str) -> list[tuple[str, str]]:
    return [(f"transformers.{backend}.{name}", ">=5.0.0") for backend in _BACKENDS]


@FIX.adds_made(*_backends("additional_special_tokens"))
def tokens(module: Any) -> property:
    """The tokens, as a list of strings."""

    def additional_special_tokens(self: Any) -> list[str]:
        """The special tokens without a role, as strings."""
        return list(map(str, self.extra_special_tokens))

    return property(additional_special_tokens)


@FIX.adds_made(*_backends("additional_special_tokens_ids"))
def numbers(module: Any) -> property:
    """The numbers of the tokens, as a list."""

    def additional_special_tokens_ids(self: Any) -> list[int]:
        """The numbers of the special tokens without a role."""
        return list(self.convert_tokens_to_ids(list(map(str, self.extra_special_tokens))))

    return property(additional_special_tokens_ids)
