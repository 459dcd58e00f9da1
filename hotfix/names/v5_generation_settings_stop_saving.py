"""Saving refuses settings for generation that the program has written into the model's configuration.

Symptom   ``ValueError: Some generation parameters are set in the model config`` at the first checkpoint of the Trainer,
          after ``model.config.max_length = 64`` and ``model.config.num_beams = 4``, or Whisper's
          ``model.config.suppress_tokens = []``.
Cause     The settings belong into ``model.generation_config``. A warning became an error.
Releases  5.0.0 and later
Upstream  transformers#41695 (not put back)
Here      They are moved into ``model.generation_config`` and saved with it, as in 4.57.6, with a warning. A model that
          does not generate, or a configuration that is saved alone, writes them into its own file. A program that
          handles the error gets it.
"""

from __future__ import annotations

import warnings
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Saving raises: Some generation parameters are set in the model config",
    kind="removed-api",
    upstream=("transformers#41695",),
    group="removed-names",
    errors=("ValueError: Some generation parameters are set in the model config…",),
    everyone="only where the release would raise: the new code tests it",
)

_CONFIG = "transformers.configuration_utils:PreTrainedConfig.save_pretrained"
_REFUSAL = """
if len(generation_parameters) > 0:
    raise ValueError(__WORDS)
"""

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.save_pretrained", ">=5.0.0"),
    old="model_to_save.config.save_pretrained(save_directory)",
    new=f"""
    from {__name__} import move_settings
    move_settings(model_to_save)
    model_to_save.config.save_pretrained(save_directory)
    """,
    beside=_REFUSAL,
    fingerprint_of=("transformers.modeling_utils:PreTrainedModel.save_pretrained", _CONFIG),
)
FIX.edits(
    (_CONFIG, ">=5.0.0"),
    old=_REFUSAL,
    new=f"""
    if len(generation_parameters) > 0:
        from {__name__} import are_written
        if not are_written(generation_parameters):
            raise ValueError(__WORDS)
    """,
)


def move_settings(model: Any) -> None:
    """Move what the release would refuse from a model's configuration into its ``generation_config``."""
    given = model.config._get_generation_parameters()
    if not given or not model.can_generate() or scope.is_handled_around(FIX.id, ValueError):
        return
    _warn(
        f"{', '.join(given)} moves from model.config to model.generation_config, which is saved as well: set it there"
    )
    for name, value in given.items():
        setattr(model.generation_config, name, value)
        setattr(model.config, name, None)


def are_written(given: dict[str, Any]) -> bool:
    """Whether a configuration is saved with such settings: a warning says so, unless the program handles the error."""
    if scope.is_handled_around(FIX.id, ValueError):
        return False
    _warn(
        f"{', '.join(given)} of a model's configuration is saved with it, and later ignored: generation_config has it"
    )
    return True


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=4)
