"""A model from a published repository cannot be saved: its generation_config.json is refused.

Symptom   ``ValueError: The generation config instance is invalid -- `.validate()` throws warnings and/or exceptions``,
          from 4.52.1 on ``ValueError: GenerationConfig is invalid``, in `save_pretrained` of a model: at the first
          checkpoint of a training, or at its end. Vicuna, Llama 2, LLaVA and their descendants have a
          generation_config.json with a temperature for sampling, but without ``do_sample``.
Cause     Reading such a file warns, and writing it raises, even if the program has not changed it.
Releases  4.37.0 to 5.22.2
Upstream  transformers#29988, transformers#29665 (fixed in 5.23.0)
Here      An unchanged configuration is written with a warning, as in 5.23.0. One that the program has changed is
          refused as before, as it is there.

Not here  4.36 warns, and leaves generation_config.json out.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="save_pretrained raises: GenerationConfig is invalid, for an unchanged generation_config.json",
    kind="crash",
    errors=(
        "ValueError: The generation config instance is invalid -- `.validate()` throws warnings and/or exceptions…",
        "ValueError: GenerationConfig is invalid…",
    ),
    on_error=("ValueError: The generation config instance is invalid…", "ValueError: GenerationConfig is invalid…"),
    upstream=("transformers#29988", "transformers#29665"),
    fixed_in="5.23.0",
    prefilter="self.validate(",
)

_AS_IT_WAS = "getattr(self, '_original_object_hash', None) == hash(self)"

FIX.edits(
    ("transformers.generation.configuration_utils:GenerationConfig.save_pretrained", ">=4.37.0,<=5.22.2"),
    old=(
        "if len(caught_warnings) > 0:\n    raise ValueError(__WORDS)",
        "self.validate(strict=True)",
    ),
    new=(
        f"""
        if {_AS_IT_WAS}:
            for w in caught_warnings:
                warnings.warn(w.message)
        elif len(caught_warnings) > 0:
            raise ValueError(__WORDS)
        """,
        f"self.validate(strict=not {_AS_IT_WAS})",
    ),
    alternatives=True,
)
