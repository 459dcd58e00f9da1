"""Chat templates in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import TOKENIZER_CONFIG, Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Chat templates in a file of their own."""
    name = "chat_template.jinja"
    inside = checkpoint.json.get(TOKENIZER_CONFIG, {}).get("chat_template")
    if name in checkpoint.files and not inside:
        sentence = "The tokenizer of this release reads no such file: it has no chat template."
        yield Misreading(name, "", Effect.MISREAD, sentence)
