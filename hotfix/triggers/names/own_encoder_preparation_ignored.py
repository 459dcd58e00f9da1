"""An encoder-decoder that prepares the inputs of its encoder in the method of earlier releases."""

from __future__ import annotations

from hotfix.names.own_encoder_preparation_ignored import is_ignored, is_short
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "own-encoder-preparation-ignored",
    when="a model overrides _prepare_encoder_decoder_kwargs_for_generation as earlier releases call it",
    wrong="it is not called, and the encoder gets the tokens alone; before 5.18.0 the call ends with a TypeError",
)


@TRIGGER.strikes("transformers.generation.utils:GenerationMixin.generate")
def has_a_short_override(call: Call) -> bool:
    """The class shows it."""
    return is_short(call.owner)


@TRIGGER.strikes("transformers.generation.utils:GenerationMixin._maybe_prepare_encoder_kwargs_for_generation")
def has_an_override(call: Call) -> bool:
    """The outputs of the encoder are not given by the caller."""
    is_needed = call.owner.config.is_encoder_decoder and call["model_kwargs"].get("encoder_outputs") is None
    return is_needed and is_ignored(call.owner)
