"""A vision-language model is saved, and parts of its names differ in the file."""

from __future__ import annotations

from hotfix.loading.v5_vlm_saved_in_two_layouts import MIXED
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-vlm-saved-in-two-layouts",
    when="a LLaVA, Gemma 3, Mistral 3, Qwen2-VL or the like is saved",
    wrong="weights are saved under names that hardly any release, and no other program, can read",
    while_repaired=False,  # the function is wrapped then
)

_PARTS = tuple(prefix.partition(".")[2].rstrip(".") for prefix in MIXED)


@TRIGGER.strikes()
def keeps_a_beginning(call: Call) -> bool:
    """A part of a name after ``model.`` is renamed, or the name belongs to Qwen2-VL's tower."""
    from transformers.conversion_mapping import get_model_conversion_mapping

    model, names = call["model"], call["state_dict"]
    if getattr(model.config, "model_type", "") in ("qwen2_vl", "qwen2_5_vl"):
        return all(any(name.startswith(f"model.{part}.") for name in names) for part in ("visual", "language_model"))
    conversions = getattr(model, "_weight_conversions", None)
    if conversions is None:
        conversions = get_model_conversion_mapping(model, add_legacy=False)
    patterns = {pattern for conversion in conversions for pattern in conversion.source_patterns}
    beginnings = tuple(f"model.{part.partition('.')[0]}." for part in _PARTS if part in patterns)
    return any(name.startswith(beginnings) for name in names) if beginnings else False
