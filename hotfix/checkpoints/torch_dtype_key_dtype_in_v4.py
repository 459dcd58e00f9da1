"""The dtype in config.json, which 4.x looks for under another name."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What names the dtype: weights say it, too."""
    if checkpoint.needs_code:
        return
    for one in checkpoint.translation(release):
        if one.key.rpartition(".")[2] == "dtype":
            sentence = f'{one.sentence} `torch_dtype="auto"` goes by the weights.'
            yield Misreading(one.file, one.key, Effect.NOTE, sentence)
