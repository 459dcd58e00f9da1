"""Names of weights of models of text and pictures that a release does not look for."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import TWO_LAYOUTS, Checkpoint, Effect, Misreading, dictionary
from ._layouts import NAMED_TWICE, NEW, file_of, is_read_into_base

_TOWERS = ("clip_vision_model", "siglip_vision_model")


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What the release does not look for."""
    file = file_of(checkpoint)
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    new = checkpoint.new_layout if version < NEW else ""
    if new and not is_read_into_base(checkpoint):
        sentence = "Weights are named so since 4.52; this release leaves them and initialises its own at random."
        yield Misreading(file, new, Effect.MISREAD, NAMED_TWICE if new.startswith(TWO_LAYOUTS) else sentence)
    both = checkpoint.two_layouts
    if both and not new and not Version("5.4.0") <= version < Version("5.6.0") and version < Version("5.9.0"):
        yield Misreading(file, both, Effect.MISREAD, NAMED_TWICE)
    tower = checkpoint.tower
    kind = dictionary(checkpoint.config.get("vision_config")).get("model_type", "clip_vision_model")
    if tower and version < Version("5.6.0") and kind in _TOWERS and not tower.startswith("vision_model."):
        sentence = "Towers have a module `vision_model` before 5.6, which looks for it and initialises it at random."
        yield Misreading(file, tower, Effect.MISREAD, sentence)
