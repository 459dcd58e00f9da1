"""``cache.crop(n)`` no longer takes the number of tokens to keep.

Symptom   A ValueError: a positive value is not supported. From loops of one's own that cut a cache back to the prompt,
          and from speculative decoding.
Cause     It takes the number of tokens to remove now, as a negative number; a positive one was the length to keep.
Releases  5.20.0 and later
Upstream  by design
Here      A positive number is the length to keep, in layers that hold every token, or have not reached their window.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="ValueError: Calling `crop` with a positive value is not supported",
    kind="removed-api",
    group="removed-names",
    exempt={
        "transformers.models.unlimited_ocr.modeling_unlimited_ocr:*.crop": "4.57.6 did not have it",
    },
    errors=("ValueError: Calling `crop` with a positive value (`…`) is not supported.…",),
)

_LAYERS = ("DynamicLayer", "DynamicSlidingWindowLayer")


@FIX.wraps(("transformers.cache_utils:DynamicLayer.crop", ">=5.20.0"), on_error=True)
def to_a_length(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remove the tokens behind a length."""

    def crop(self: Any, tokens_to_remove: int) -> None:
        if type(self).__name__ in _LAYERS:  # others have more than keys and values, which they cut themselves
            tokens_to_remove = min(tokens_to_remove - self.get_seq_length(), 0)
        original(self, tokens_to_remove)

    return crop


@FIX.recognises
def refuses(function: ast.AST) -> bool:
    """Whether it raises for a positive number."""
    text = ast.unparse(function)
    return "`crop` with a positive value" in text and occurs("raise ValueError(__TEXT)", function)
