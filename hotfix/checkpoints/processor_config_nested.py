"""Processors that are written into one file."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import PROCESSOR, Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """Processors that are written into one file."""
    described = checkpoint.json.get(PROCESSOR, {})
    for key in ("image_processor", "video_processor", "feature_extractor"):
        own = "video_preprocessor_config.json" if key == "video_processor" else "preprocessor_config.json"
        if isinstance(described.get(key), dict) and own not in checkpoint.files:
            sentence = f"This release looks for it in {own}, which is not there."
            yield Misreading(PROCESSOR, key, Effect.REFUSED, sentence)
