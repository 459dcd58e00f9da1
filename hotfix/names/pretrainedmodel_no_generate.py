"""Models outside of transformers have lost ``generate``.

Symptom   ``AttributeError: 'InternLM2ForCausalLM' object has no attribute 'generate'``: InternVL, moondream, Tag2Text,
          XTTS, tortoise, IndexTTS and others. Models that ``AutoModel`` loads are not affected; inner models and
          classes of your own are.
Cause     ``PreTrainedModel`` does not inherit from ``GenerationMixin`` any more. When an instance of a class is made
          that would need it, because it has a ``prepare_inputs_for_generation``, a warning says so.
Releases  4.52.1 and later
Upstream  InternVL#1068, ms-swift#4324, ms-swift#7019 and 14 more (not put back)
Here      Where the warning is given, the class gets ``GenerationMixin`` as its last base, and ``can_generate()`` is
          true, as in 4.51.3; only for classes whose ``prepare_inputs_for_generation`` was not written in transformers.
          The class itself has ``generate`` from its first instance on. Taken out, the bases are what they were.
"""

from __future__ import annotations

import weakref
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'InternLM2ForCausalLM' object has no attribute 'generate'",
    kind="removed-api",
    upstream=("InternVL#1068", "ms-swift#4324", "ms-swift#7019"),
    optin="it gives classes another base, and models that run without generate() a GenerationConfig",
    group="removed-names",
    errors=(
        "AttributeError: '…ForCausalLM' object has no attribute 'generate'",
        "AttributeError: '…InferenceModel' object has no attribute 'generate'",
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'generate'",
        "AttributeError: '…LMHeadModel' object has no attribute 'generate'",
    ),
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.can_generate", ">=4.52.1"),
    old="""
        if hasattr(cls, "prepare_inputs_for_generation"):
            logger.warning(__MESSAGE)
    """,
    new=f"""
        if hasattr(cls, "prepare_inputs_for_generation"):
            from {__name__} import now_inherits
            if now_inherits(cls):
                return True
            logger.warning(__MESSAGE)
    """,
)

_CHANGED: weakref.WeakSet[type] = weakref.WeakSet()


def now_inherits(cls: Any) -> bool:
    """Give a class what it had, unless it is one of transformers. Returns whether it has it now."""
    if str(cls.prepare_inputs_for_generation.__module__).startswith("transformers."):
        return False
    from transformers.generation import GenerationMixin  # not before a model needs it

    cls.__bases__ = (*cls.__bases__, GenerationMixin)
    _CHANGED.add(cls)
    return True


@FIX.cleans_up
def restore() -> None:
    """Take it from the classes again."""
    from transformers.generation import GenerationMixin

    for cls in list(_CHANGED):
        cls.__bases__ = tuple(base for base in cls.__bases__ if base is not GenerationMixin)
    _CHANGED.clear()
