"""Names of weights that 5.4 and 5.5 alone have written, of models that once had a model of text as base."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import Checkpoint, Effect, Misreading
from ._layouts import NAMED_TWICE, NEW, file_of, is_read_into_base


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What the release does not look for."""
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    if version < NEW and is_read_into_base(checkpoint):
        yield Misreading(file_of(checkpoint), checkpoint.new_layout, Effect.MISREAD, NAMED_TWICE)
