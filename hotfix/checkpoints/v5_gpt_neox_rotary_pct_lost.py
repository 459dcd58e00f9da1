"""How much of a head GPT-NeoX rotates."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import CONFIG, Checkpoint, Effect, Misreading, dictionary


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """How much of a head GPT-NeoX rotates."""
    said = dictionary(checkpoint.config.get("rope_parameters")).get("partial_rotary_factor")
    if checkpoint.model_type == "gpt_neox" and said not in (None, 0.25):
        sentence = f"It is {said}, and this release writes {checkpoint.config.get('rotary_pct', 0.25)} over it."
        key = "rope_parameters.partial_rotary_factor"
        yield Misreading(CONFIG, key, Effect.MISREAD, sentence)
