"""Encoder-decoders that generate for a padded batch."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "generate-encoder-mask-dropped",
    when="an encoder-decoder (T5, BART, Marian) generates for a padded batch",
    wrong="the decoder attends to the padding",
)


@TRIGGER.strikes()
def is_padded(call: Call) -> Any:
    """The mask of the encoder has a zero."""
    mask = call.get("attention_mask")
    return mask is not None and call.owner.config.is_encoder_decoder and (mask == 0).any()
