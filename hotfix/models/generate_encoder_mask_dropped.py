"""`generate` of an encoder-decoder ignores the padding of its input: T5, BART, Marian, NLLB, Pegasus.

Symptom   Silent. In a padded batch, translations and summaries differ from those of the same text alone; long padding
          gives garbage.
Cause     The preparation of each step drops the attention mask of the encoder, so cross-attention sees the padding.
Releases  4.49.0
Upstream  transformers#36293, transformers#36338 (fixed in 4.50.0)
Here      The mask reaches a `forward` that has ``attention_mask``. Bitwise equal to 4.50.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="T5 in 4.49.0: generate ignores the attention mask of a padded batch",
    kind="silent",
    upstream=("transformers#36293", "transformers#36338"),
    fixed_in="4.50.0",
    when=f"from {__name__} import reads_a_mask; self.config.is_encoder_decoder and reads_a_mask(self, attention_mask)",
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


def reads_a_mask(model: object, mask: object) -> bool:
    """Whether there is a mask, and the `forward` of a model has an argument for it."""
    import inspect

    return mask is not None and "attention_mask" in inspect.signature(model.forward).parameters  # type: ignore[attr-defined]
