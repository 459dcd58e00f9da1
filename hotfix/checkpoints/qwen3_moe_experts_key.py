"""How many experts a model has, under the key of 5.x."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms
from ._checkpoint import CONFIG, Checkpoint, Effect, Misreading, configurations

_EXPERTS = {
    "qwen3_moe": (128, Version("5.1.0")),
    "qwen3_omni_moe_talker_text": (128, Version("5.1.0")),
    "qwen3_vl_moe_text": (60, Version("5.4.0")),
}
"""By type the number of experts that a class takes where it is told of none, and the first that knows both keys."""


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """How many experts a model has, under the key of 5.x."""
    if checkpoint.needs_code or release.class_of(checkpoint.model_type) is None:
        return
    for at, config in configurations(checkpoint.config):
        default, since = _EXPERTS.get(str(config.get("model_type", "")), (0, version))
        number = config.get("num_local_experts")
        if default and version < since and "num_experts" not in config and number not in (None, default):
            sentence = (
                f"It is {number}; this release looks for num_experts and takes {default}: weights do not fit. "
                f"{since} is the first that knows both keys."
            )
            yield Misreading(CONFIG, f"{at}num_local_experts", Effect.REFUSED, sentence)
