"""The class of tokenizers that 5.x writes."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import TOKENIZER_CONFIG, Checkpoint, Effect, Misreading, dictionary


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What AutoTokenizer refuses by its name."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    name = described.get("tokenizer_class")
    if name == "TokenizersBackend" and "AutoTokenizer" not in dictionary(described.get("auto_map")):
        sentence = f"{name} came with 5.0.0; AutoTokenizer of this release refuses it."
        yield Misreading(TOKENIZER_CONFIG, "tokenizer_class", Effect.REFUSED, sentence)
