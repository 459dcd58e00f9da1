"""A text model of Gemma 3n is saved."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-conversion-reverse",
    when="a text model of Gemma 3n is saved",
    wrong="one weight is saved under a name that other programs do not know, and initialize at random",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes("transformers.core_model_loading:revert_weight_conversion")
def has_the_piece_twice(call: Call) -> bool:
    """The piece that is put in for ``model`` at the beginning of this name goes into the middle of it as well."""
    return any(name.startswith("model.per_layer_model_projection") for name in call["state_dict"])


@TRIGGER.strikes("transformers.core_model_loading:WeightTransform.rename_source_key")
def is_one_name(call: Call) -> bool:
    """Counted only while names are built for a file: reading is right."""
    return False
