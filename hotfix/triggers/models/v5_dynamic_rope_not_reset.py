"""A text that is longer than the model was trained on; the results of later shorter ones are wrong."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-dynamic-rope-not-reset",
    when="a model with dynamic rotary frequencies reads a text that is longer than it was trained on",
    wrong="every shorter text after it is read with the frequencies of the longer one",
)


@TRIGGER.strikes("transformers.modeling_rope_utils:_compute_dynamic_ntk_parameters")
def grows(call: Call) -> bool:
    """Frequencies are computed for a length; those of layer types are reset."""
    return call.get("seq_len") is not None and call.get("layer_type") is None
