"""The configuration turns the LayerNorm of the projector off."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "lfm2vl-layernorm-though-off",
    when="projector_use_layernorm is false in the configuration",
    wrong="the features of images go through a LayerNorm that the model does not have",
)


@TRIGGER.strikes("transformers.models.lfm2_vl.modeling_lfm2_vl:Lfm2VlMultiModalProjector.__init__")
def is_turned_off(call: Call) -> bool:
    """By the configuration that the projector is made of."""
    return not getattr(call["config"], "projector_use_layernorm", True)


@TRIGGER.in_files
def is_configured(run: Files) -> Optional[bool]:
    """By config.json; without the setting, there is a LayerNorm in every release."""
    return not run.config.get("projector_use_layernorm", True) if run.config else None
