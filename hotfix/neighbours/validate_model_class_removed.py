"""``GenerationMixin._validate_model_class`` is gone.

Symptom   ``AttributeError: 'GPT2InferenceModel' object has no attribute '_validate_model_class'``, from copies of
          ``generate`` in research code (Coqui XTTS, tortoise).
Cause     Every class that inherits from ``GenerationMixin`` can generate since 4.50.0; nothing is to validate.
Releases  4.52.1 and later
Upstream  not put back
Here      The check that it was: nothing for a model that can generate, and a TypeError for one that cannot.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: object has no attribute '_validate_model_class'",
    kind="removed-api",
    group="removed-names",
    errors=("AttributeError: '…' object has no attribute '_validate_model_class'",),
)

ENDS = ["ForCausalLM", "ForConditionalGeneration", "ForSpeechSeq2Seq", "ForVision2Seq"]


@FIX.adds(("transformers.generation.utils:GenerationMixin._validate_model_class", ">=4.52.1"))
def _validate_model_class(self: Any) -> None:
    """Raise where the model has no head that gives logits.

    Raises:
        TypeError: it has none.
    """
    if not self.can_generate():
        raise TypeError(
            f"The current model class ({self.__class__.__name__}) is not compatible with `.generate()`, as "
            "it doesn't have a language model head. Classes that support generation often end in one of these "
            f"names: {ENDS}."
        )
