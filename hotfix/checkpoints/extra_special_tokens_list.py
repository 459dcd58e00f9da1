"""A list of further special tokens, where a release looks for names of them."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import TOKENIZER_CONFIG, Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """A list of further special tokens, where a release looks for names of them."""
    given = checkpoint.json.get(TOKENIZER_CONFIG, {}).get("extra_special_tokens")
    if isinstance(given, list) and version >= Version("4.47.0"):
        sentence = "It is a list, and this release asks for its keys: AttributeError."
        yield Misreading(TOKENIZER_CONFIG, "extra_special_tokens", Effect.REFUSED, sentence)
