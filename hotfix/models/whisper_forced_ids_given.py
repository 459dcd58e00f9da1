"""Whisper refuses the ``forced_decoder_ids`` that a program gives to `generate`.

Symptom   A ValueError about ``model_kwargs`` that are not used by the model, ``['forced_decoder_ids']``, from
          ``model.generate(features, forced_decoder_ids=processor.get_decoder_prompt_ids(language=…, task=…))``, which
          is how the cards of the models call it; with None, on 4.x, ``TypeError:
          WhisperForConditionalGeneration.forward() got an unexpected keyword argument 'forced_decoder_ids'``.
Cause     `GenerationConfig` has no such parameter any more, so nothing takes it out of the arguments.
Releases  4.53.0 and later
Upstream  by design (not put back): programs should give ``language`` and ``task``
Here      After the error, the ids are put into the generation configuration of this call, where Whisper itself still
          looks for them. The text begins with them, as in 4.52.4.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Whisper: The following `model_kwargs` are not used by the model: ['forced_decoder_ids']",
    kind="removed-api",
    errors=(
        "ValueError: The following `model_kwargs` are not used by the model: ['forced_decoder_ids'] …",
        "TypeError: WhisperForConditionalGeneration.forward() got an unexpected keyword argument 'forced_decoder_ids'",
    ),
    on_error=True,
)

_WHISPER = "transformers.models.whisper.generation_whisper:WhisperGenerationMixin"
_PREPARES = "generation_config, kwargs = self._prepare_generation_config(generation_config, **kwargs)"

FIX.edits(
    (f"{_WHISPER}.generate", ">=4.53.0"),
    fingerprint_of=(
        f"{_WHISPER}.generate",
        f"{_WHISPER}._retrieve_init_tokens",
        "transformers.generation.configuration_utils:GenerationConfig.__init__",
    ),
    unless='self.forced_decoder_ids = kwargs.pop("forced_decoder_ids", None)',
    old=_PREPARES,
    new=f"""
        given = "forced_decoder_ids" in kwargs
        forced_decoder_ids = kwargs.pop("forced_decoder_ids", None)
        {_PREPARES}
        if given:
            generation_config.forced_decoder_ids = forced_decoder_ids
    """,
)
