"""A list of special tokens beside an empty dictionary of them."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import TOKENIZER_CONFIG, Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What 4.47 to 4.57 write: a list of special tokens beside an empty dictionary of them."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    key = "additional_special_tokens"
    empty = "extra_special_tokens" in described and not described["extra_special_tokens"]
    if described.get(key) and empty:
        sentence = "This release takes the empty extra_special_tokens in its place: they are special no more."
        yield Misreading(TOKENIZER_CONFIG, key, Effect.MISREAD, sentence)
