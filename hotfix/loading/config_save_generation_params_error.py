"""Saving a configuration with generation parameters raises.

Symptom   ``ValueError: Some non-default generation parameters are set in the model config`` at the first checkpoint of
          the Trainer, for BART, T5 and many fine-tuned models
Cause     A warning became an error.
Releases  4.45.0 and 4.45.1
Upstream  transformers#33886 (fixed in 4.45.2)
Here      It is a warning again, with the same text.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Saving raises: Some non-default generation parameters are set in the model config",
    kind="crash",
    errors=("ValueError: Some non-default generation parameters are set in the model config…",),
    on_error=True,
    upstream=("transformers#33886",),
    fixed_in="4.45.2",
)

FIX.edits(
    ("transformers.configuration_utils:PretrainedConfig.save_pretrained", ">=4.45.0,<=4.45.1"),
    old="raise ValueError(__WORDS)",
    new="warnings.warn(__WORDS, UserWarning)",
    beside="non_default_generation_parameters = self._get_non_default_generation_parameters()",
)
