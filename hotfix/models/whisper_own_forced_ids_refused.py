"""Whisper refuses to generate because its own generation configuration has ``forced_decoder_ids``.

Symptom   ``ValueError: You have explicitly specified `forced_decoder_ids`.`` from ``generate`` of a Whisper model that
          was made or saved by 4.50.0 or later, also with ``language`` and ``task``.
Cause     Whisper takes the ids out of the configuration of the call and begins the text with them. Since 4.50.0
          ``generate`` puts the defaults of the model back into it, so the ids are there again, and are refused.
Releases  4.50.0 to 4.52.4
Upstream  transformers#37172, fixed in 4.53.0
Here      Ids that are the model's own are not refused. The text begins as it does in 4.53.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

_UTILS = "transformers.generation.utils:GenerationMixin"

FIX = Fix(
    title="Whisper refuses to generate because its generation configuration has forced_decoder_ids",
    kind="crash",
    upstream=("transformers#37172",),
    fixed_in="4.53.0",
    errors=("ValueError: You have explicitly specified `forced_decoder_ids`. Please remove …",),
    on_error=True,
    when='hasattr(self, "_retrieve_init_tokens")',  # only Whisper takes the ids out
)

FIX.edits(
    (f"{_UTILS}._get_logits_processor", ">=4.50.0,<=4.52.4"),
    fingerprint_of=(f"{_UTILS}._get_logits_processor", f"{_UTILS}._prepare_generation_config"),
    old="if generation_config.forced_decoder_ids is not None: raise ValueError(__REFUSAL)",
    new="""
if generation_config.forced_decoder_ids not in (None, self.generation_config.forced_decoder_ids):
    raise ValueError(__REFUSAL)
""",
    beside="__BASE = version.parse(version.parse(self.generation_config.transformers_version).base_version)",
)
