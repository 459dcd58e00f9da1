"""The parts of a model for images and text are no attributes of the outer model any more.

Symptom   ``AttributeError: 'Qwen2_5_VLForConditionalGeneration' object has no attribute 'visual'``,
          ``'language_model'``, ``'vision_tower'``, ``'multi_modal_projector'``: code that freezes a part, or gives it
          to an optimizer; ``'Qwen2_5_VLModel' object has no attribute 'embed_tokens'``.
Cause     The parts went one level deeper in 4.52; properties that led to them were removed in 5.0.0. ``Qwen2VLModel``
          and ``Qwen2_5_VLModel``, which were the language model until 4.51.3, have one since.
Releases  5.0.0 and later; ``embed_tokens``, ``layers`` and ``norm`` 4.52.1 and later
Upstream  OneTrainer#1524 (not put back)
Here      The same parts, where they are now, as the properties of 4.57.6 gave them. To be read; what is set stays on
          the outer model, as in the release.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Qwen2_5_VLForConditionalGeneration' object has no attribute 'visual'",
    kind="removed-api",
    upstream=("OneTrainer#1524",),
    group="removed-names",
)

_LLAVA = ("language_model", "vision_tower", "multi_modal_projector")
_QWEN = ("language_model", "visual")

OUTER: dict[str, tuple[str, ...]] = {
    "gemma3.modeling_gemma3:Gemma3": _LLAVA,
    "internvl.modeling_internvl:InternVL": _LLAVA,
    "llava.modeling_llava:Llava": _LLAVA,
    "llava_next.modeling_llava_next:LlavaNext": _LLAVA,
    "llava_onevision.modeling_llava_onevision:LlavaOnevision": _LLAVA,
    "paligemma.modeling_paligemma:PaliGemma": _LLAVA,
    "mllama.modeling_mllama:Mllama": ("language_model", "vision_model"),
    "qwen2_vl.modeling_qwen2_vl:Qwen2VL": _QWEN,
    "qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VL": _QWEN,
    "qwen3_vl.modeling_qwen3_vl:Qwen3VL": _QWEN,
}
TEXT = ("qwen2_vl.modeling_qwen2_vl:Qwen2VLModel", "qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VLModel")


def _at(path: str) -> Callable[[Any], property]:
    """Return a function that makes a property which leads to a part.

    Args:
        path: of the part, from the model on.
    """
    return lambda owner: property(attrgetter(path))


for _class, _parts in OUTER.items():
    for _part in _parts:
        FIX.adds_made((f"transformers.models.{_class}ForConditionalGeneration.{_part}", ">=5.0.0"), of_instances=True)(
            _at(f"model.{_part}")
        )
for _class in TEXT:
    for _part in ("embed_tokens", "layers", "norm"):
        FIX.adds_made((f"transformers.models.{_class}.{_part}", ">=4.52.1"), of_instances=True)(
            _at(f"language_model.{_part}")
        )
