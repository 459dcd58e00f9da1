"""What 5.x has written of rotary embeddings into config.json, and 4.x reads under other names."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What has to be translated."""
    if checkpoint.needs_code:
        return
    for one in checkpoint.translation(release):
        if one.outcome is forms.Outcome.TRANSLATED and one.key.rpartition(".")[2] != "dtype":
            yield Misreading(one.file, one.key, Effect.MISREAD, one.sentence)
