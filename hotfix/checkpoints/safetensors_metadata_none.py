"""Files of weights that do not say in which framework's form they are."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Files of weights that do not say in which framework's form they are."""
    for name, said in checkpoint.formats.items():
        if said is None:
            sentence = "Its header names no format: AttributeError: 'NoneType' object has no attribute 'get'."
            yield Misreading(name, "__metadata__", Effect.REFUSED, sentence)
