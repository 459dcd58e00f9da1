"""ValueError: size must contain 'shortest_edge' and 'longest_edge' keys, from a fine-tuned Qwen2-VL.

Symptom   ``ValueError: size must contain 'shortest_edge' and 'longest_edge' keys.`` from
          ``AutoProcessor.from_pretrained()``, for models that were fine-tuned from Qwen2-VL with 4.45 to 4.48, such as
          ShowUI and UI-TARS.
Cause     4.45 to 4.48 wrote the limits into ``size`` as `min_pixels` and `max_pixels`. Later releases renamed them, and
          refuse a size without the new names, although the file also has both limits outside of ``size``.
Releases  the slow image processor 4.50.0 to 5.3.0, the fast one 4.50.0 to 4.53.3
Upstream  showlab/ShowUI#91, bytedance/UI-TARS#165 (fixed in 4.54.0 and 5.4.0)
Here      A size with the old names is read under the new ones, as there. A program that handles the ValueError gets it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.processing._places import FAST, SLOW, VIDEO, place

FIX = Fix(
    title="Qwen2-VL, UI-TARS: ValueError: size must contain 'shortest_edge' and 'longest_edge' keys",
    kind="loading",
    upstream=("showlab/ShowUI#91", "bytedance/UI-TARS#165"),
    fixed_in="4.54.0, 5.4.0",
    errors=("ValueError: size must contain 'shortest_edge' and 'longest_edge' keys.",),
    on_error=True,
    prefilter='raise ValueError("size must contain',
    exempt={
        f"transformers.models.{model}.{kind.format(model)}:{name}.__init__": (
            "the model is newer than 4.48: none of its files has the old names"
        )
        for model, kind, name in (
            ("ernie4_5_vl_moe", SLOW, "Ernie4_5_VLMoeImageProcessor"),
            ("ernie4_5_vl_moe", SLOW, "Ernie4_5_VL_MoeImageProcessor"),
            ("ernie4_5_vl_moe", VIDEO, "Ernie4_5_VLMoeVideoProcessor"),
            ("ernie4_5_vl_moe", VIDEO, "Ernie4_5_VL_MoeVideoProcessor"),
            ("glm46v", SLOW, "Glm46VImageProcessor"),
            ("glm4v", SLOW, "Glm4vImageProcessor"),
            ("glm4v", FAST, "Glm4vImageProcessorFast"),
            ("glm_image", SLOW, "GlmImageImageProcessor"),
            ("paddleocr_vl", SLOW, "PaddleOCRVLImageProcessor"),
            ("paddleocr_vl", FAST, "PaddleOCRVLImageProcessorFast"),
            ("video_llama_3", SLOW, "VideoLlama3ImageProcessor"),
        )
    },
)

_NAMES = {"min_pixels": "shortest_edge", "max_pixels": "longest_edge"}


_CHECK = '"shortest_edge" not in size or "longest_edge" not in size'
_RENAMED = f"from {__name__} import renamed\nsize = renamed(size)"

FIX.edits(
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor.__init__", ">=4.50.0,<=5.3.0"),
    old="super().__init__(**kwargs)",
    new=f"{_RENAMED}\nsuper().__init__(**kwargs)",
    beside=_CHECK,
)
FIX.edits(
    place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast.__init__", ">=4.50.0,<=4.53.3"),
    old='size = kwargs.pop("size", None)',
    new=f'size = kwargs.pop("size", None)\n{_RENAMED}',
    beside=_CHECK,
    unless='size.pop("min_pixels", None)',
)


def renamed(size: Any) -> Any:
    """Rename the limits of a size for these releases; any other size stays as it is.

    Args:
        size: the processor's argument, or None.
    """
    if not isinstance(size, dict) or not _NAMES.keys() <= size.keys() or not size.keys().isdisjoint(_NAMES.values()):
        return size
    return {_NAMES.get(name, name): value for name, value in size.items()}
