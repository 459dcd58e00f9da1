"""The form in which tokenizers 0.20 and later write their merges."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import TOKENIZER, Checkpoint, Effect, Misreading, dictionary


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """The form in which tokenizers 0.20 and later write their merges."""
    written = dictionary(checkpoint.json.get(TOKENIZER, {}).get("model")).get("merges")
    is_new = isinstance(written, list) and bool(written) and isinstance(written[0], list)
    if is_new:
        sentence = "They are pairs; the package tokenizers before 0.20, which this release asks for, takes texts only."
        yield Misreading(TOKENIZER, "model.merges", Effect.REFUSED, sentence)
