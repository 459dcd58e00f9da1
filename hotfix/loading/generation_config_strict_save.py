"""A model that was loaded from a published repository cannot be saved: how it says to generate is refused.

Symptom   ``ValueError: The generation config instance is invalid -- `.validate()` throws warnings and/or exceptions``,
          from 4.52.1 on ``ValueError: GenerationConfig is invalid``, in `save_pretrained` of a model: at the first
          checkpoint of a training, or at its end. Vicuna, Llama 2, LLaVA and whatever was made of them: their
          generation_config.json has a temperature for sampling, and does not sample.
Cause     What is only warned about when the file is read is an error when it is written, whoever has said it.
Releases  4.37.0 to 5.22.2
Upstream  transformers#29988, transformers#29665 (fixed in 5.23.0)
Here      What is as it was read is warned about, and written, as in 5.23.0. What the program has changed is refused
          as before, there and here.

Not here  4.36 warns, and leaves generation_config.json out.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Saving raises because of a generation_config.json that the program has only read",
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
