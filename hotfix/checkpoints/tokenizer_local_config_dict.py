"""A large tokenizer in a folder in which there is a configuration."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import CONFIG, TOKENIZER, Checkpoint, Effect, Misreading, dictionary, parsed


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """4.57.2 cannot load a large tokenizer from a folder in which there is a configuration."""
    vocabulary = dictionary(checkpoint.json.get(TOKENIZER, {}).get("model")).get("vocab")
    size = len(vocabulary) if isinstance(vocabulary, (dict, list)) else 0
    writer = parsed(str(checkpoint.config.get("transformers_version", "")))
    if size > 100_000 and writer is not None and writer <= version:
        sentence = f"It has {size} tokens, and beside {CONFIG} this release loads none with more than 100,000."
        yield Misreading(TOKENIZER, "model.vocab", Effect.REFUSED, sentence)
