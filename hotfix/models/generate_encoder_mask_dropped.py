"""`generate` of an encoder-decoder ignores the padding of its input: T5, BART, Marian, NLLB, Pegasus.

Symptom   Silent. In a padded batch, translations and summaries differ from those of the same text alone; long padding
          gives garbage.
Cause     The preparation of each step drops the attention mask of the encoder, so cross-attention sees the padding.
Releases  4.49.0
Upstream  transformers#36293, transformers#36338 (fixed in 4.50.0)
Here      The mask reaches a `forward` that has ``attention_mask``. Bitwise equal to 4.50.0, except that
          a program's own ``encoder_outputs`` may be longer than the mask: 4.50.0 raises an error, here they stay.
          The mask of ones that `generate` makes from the shape of sounds or images is dropped as before: their encoder
          may have another length, or take none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="T5 in 4.49.0: generate ignores the attention mask of a padded batch",
    kind="silent",
    upstream=("transformers#36293", "transformers#36338"),
    fixed_in="4.50.0",
    when=f"from {__name__} import masks; self.config.is_encoder_decoder and masks(self, attention_mask, kwargs)",
)

FIX.edits(
    ("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation", "==4.49.0"),
    old=[
        """
        attention_mask = (
            kwargs.pop("decoder_attention_mask", None) if self.config.is_encoder_decoder else attention_mask
        )
        """,
        """
        if attention_mask is not None:
            model_inputs[attention_mask_key] = attention_mask
        for key, value in kwargs.items():
            if key not in model_inputs:
                model_inputs[key] = value
        """,
    ],
    new=[
        """
        encoder_attention_mask = attention_mask
        attention_mask = kwargs.pop("decoder_attention_mask", None)
        """,
        """
        if attention_mask is not None:
            model_inputs[attention_mask_key] = attention_mask
        model_inputs["attention_mask"] = encoder_attention_mask
        for key, value in kwargs.items():
            if key not in model_inputs:
                model_inputs[key] = value
        """,
    ],
)


def masks(model: Any, mask: Any, others: Mapping[str, Any]) -> bool:
    """Whether the `forward` of a model takes a mask, and this one fits the states of the encoder.

    Args:
        model: the model.
        mask: of shape (batch, length), or None.
        others: further arguments; ``encoder_outputs`` has the states, of shape (batch, length, width). Those of a text
            have the length of the mask, unless the program has added some. Audio may be shortened by the encoder.
    """
    import inspect

    if mask is None or "attention_mask" not in inspect.signature(model.forward).parameters:
        return False
    if bool((mask != 0).all()):  # no padding: 2 is for global attention in LED
        return False
    outputs = others.get("encoder_outputs")
    if outputs is None or model.main_input_name != "input_ids":
        return True
    return bool(mask.shape[-1] == outputs[0].shape[1])
