"""Tokenizers no longer have ``all_special_tokens_extended``.

Symptom   ``AttributeError: Qwen2Tokenizer has no attribute all_special_tokens_extended`` while vLLM up to 0.11 starts.
Cause     The property was removed, with ``special_tokens_map_extended``.
Releases  5.0.0 and later
Upstream  Qwen3-VL#2058, verl#4337 (not put back)
Here      Both, in the order of 4.57.6: the named tokens, then the additional ones, then those of single models, such as
          an image token; each once, as a string or an ``AddedToken``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: Qwen2Tokenizer has no attribute all_special_tokens_extended",
    kind="removed-api",
    upstream=("Qwen3-VL#2058", "verl#4337"),
    group="removed-names",
    errors=("AttributeError: …Tokenizer… has no attribute all_special_tokens_extended",),
)

LACKING = ">=5.0.0"
BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"


@FIX.adds_made((f"{BASE}.all_special_tokens_extended", LACKING))
def every_token(base: Any) -> property:
    """The tokens, as a list."""

    def all_special_tokens_extended(self: Any) -> list[Any]:
        """All special tokens, each once, as strings or `AddedToken`."""
        seen: dict[str, Any] = {}
        for _, tokens in _held(self, base.PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES):
            for token in tokens if isinstance(tokens, list) else [tokens]:
                seen.setdefault(str(token), token)
        return list(seen.values())

    return property(all_special_tokens_extended)


@FIX.adds_made((f"{BASE}.special_tokens_map_extended", LACKING))
def by_name(base: Any) -> property:
    """The tokens by role."""

    def special_tokens_map_extended(self: Any) -> dict[str, Any]:
        """All special tokens by name, as strings or `AddedToken`; the additional ones are a list."""
        return dict(_held(self, base.PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES))

    return property(special_tokens_map_extended)


def _held(tokenizer: Any, common: list[str]) -> Iterator[tuple[str, Any]]:
    """The special tokens of a tokenizer, in the old order and under the old names.

    Args:
        tokenizer: the tokenizer.
        common: the names that every tokenizer has.
    """
    named = {name: tokenizer._special_tokens_map.get(name) for name in tokenizer.SPECIAL_TOKENS_ATTRIBUTES}
    order = [name for name in named if name in common], [name for name in named if name not in common]
    yield from ((name, named[name]) for name in order[0] if named[name])
    if tokenizer._extra_special_tokens:
        yield "additional_special_tokens", list(tokenizer._extra_special_tokens)
    yield from ((name, named[name]) for name in order[1] if named[name])
