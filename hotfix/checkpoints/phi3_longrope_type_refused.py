"""The word for the rotary embeddings of Phi-3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.version import Version

from ..loading import forms
from ._checkpoint import CONFIG, Checkpoint, Effect, Misreading


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """A word that came later."""
    understood = release.class_of(checkpoint.model_type)
    given = checkpoint.config.get("rope_scaling")
    if understood is None or not isinstance(given, Mapping) or release.knows_rope_parameters():
        return
    is_known = "longrope" in understood.types
    spelled = given.get("rope_type") or given.get("type")
    if is_known and spelled == "longrope" and '"su"' in understood.text and '"longrope"' not in understood.text:
        sentence = f"{understood.name} of this release knows the type 'longrope' as 'su', and refuses any other word."
        yield Misreading(CONFIG, "rope_scaling.type", Effect.REFUSED, sentence)
