"""A limit of pixels that is given to an image processor of Qwen's for one call, or at loading, is ignored.

Symptom   Silent. ``processor(..., max_pixels=...)``, and before 5.0.0 ``from_pretrained(..., max_pixels=...)`` too,
          have no effect: pictures have as many tokens as without it, up to 16384 with the configuration of Qwen3-VL.
Cause     Fast processors look at ``min_pixels`` and ``max_pixels`` only if both are given. In 4.50 all processors look
          at ``size`` alone, which was computed before `from_pretrained` set the attributes that it was given.
Releases  Qwen2-VL, which is the image processor of Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL: slow 4.50.0 to 4.50.3, fast
          4.50.0 to 5.17.0. The same in video processors and in other models: the table below.
Upstream  transformers#41955, transformers#48916; fixed in 4.51.0 (attributes) and in 5.18.0 (calls)
Here      The limit that is missing is that of ``size``, and in 4.50 the attributes are looked at. Bitwise equal to
          4.51.0 and to 5.18.0.
"""

from __future__ import annotations

import ast
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.processing._places import FAST, PIL, SLOW, VIDEO, place

FOUR, FIVE = ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.17.0"
TABLE = (
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor.preprocess", ">=4.50.0,<=4.50.3"),
    place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast._further_process_kwargs", ">=4.54.0,<=5.3.0"),
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor._standardize_kwargs", FIVE),
    place("qwen2_vl", PIL, "Qwen2VLImageProcessorPil._standardize_kwargs", FIVE),
    place("qwen2_vl", VIDEO, "Qwen2VLVideoProcessor._further_process_kwargs", FOUR),
    place("qwen2_vl", VIDEO, "Qwen2VLVideoProcessor._standardize_kwargs", FIVE),
    place("glm_image", FAST, "GlmImageImageProcessorFast._further_process_kwargs", FOUR),
    place("glm_image", SLOW, "GlmImageImageProcessor._standardize_kwargs", FIVE),
    place("glm_image", PIL, "GlmImageImageProcessorPil._standardize_kwargs", FIVE),
    place("video_llama_3", FAST, "VideoLlama3ImageProcessorFast._further_process_kwargs", FOUR),
    place("video_llama_3", SLOW, "VideoLlama3ImageProcessor._standardize_kwargs", FIVE),
    place("video_llama_3", PIL, "VideoLlama3ImageProcessorPil._standardize_kwargs", FIVE),
    place("video_llama_3", VIDEO, "VideoLlama3VideoProcessor._further_process_kwargs", FOUR),
    place("video_llama_3", VIDEO, "VideoLlama3VideoProcessor._standardize_kwargs", FIVE),
    place("paddleocr_vl", SLOW, "PaddleOCRVLImageProcessor._standardize_kwargs", FIVE),
    place("paddleocr_vl", PIL, "PaddleOCRVLImageProcessorPil._standardize_kwargs", FIVE),
    place("hunyuan_vl", SLOW, "HunYuanVLImageProcessor._standardize_kwargs", ">=5.13.0,<=5.17.0"),
    place("hunyuan_vl", PIL, "HunYuanVLImageProcessorPil._standardize_kwargs", ">=5.13.0,<=5.17.0"),
    place("minimax_m3_vl", SLOW, "MiniMaxM3VLImageProcessor._standardize_kwargs", ">=5.15.0,<=5.17.0"),
    place("cohere_compass", SLOW, "CohereCompassImageProcessor._standardize_kwargs", ">=5.16.0,<=5.17.0"),
    place("cohere_compass", PIL, "CohereCompassImageProcessorPil._standardize_kwargs", ">=5.16.0,<=5.17.0"),
)

# The same lines are right in the slow processor, which always has both limits: its `__init__` sees to that.
OLD = place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast.preprocess", ">=4.50.0,<=4.53.3")

FIX = Fix(
    id="qwen2vl-max-pixels-ignored",
    title="max_pixels for one call, or at loading, is ignored by Qwen's image processors",
    kind="silent",
    upstream=("transformers#41955", "transformers#48916"),
    fixed_in="4.51.0, 5.18.0",
    prefilter="max_pixels is not None",
    order=-1,  # before qwen2vl-image-size-mutation changes the statement behind which the attributes are looked at
)

_BOTH = "min_pixels is not None and max_pixels is not None"
_OF_THE_PROCESSOR = ("size = self.size", "size = {**self.size}")
# A limit that was given to the processor itself yields to a size that is given for one call.
_COMPLETED = """\
if (min_pixels is None) != (max_pixels is None):
    own = (getattr(self, "min_pixels", None), getattr(self, "max_pixels", None))
    if size is None or size == self.size or (min_pixels, max_pixels) != own:
        limits = self.size if size is None else size
        min_pixels = limits["shortest_edge"] if min_pixels is None else min_pixels
        max_pixels = limits["longest_edge"] if max_pixels is None else max_pixels
"""
_LOOKED_AT = """\
limits = ("shortest_edge", getattr(self, "min_pixels", None)), ("longest_edge", getattr(self, "max_pixels", None))
size = {**size, **{edge: pixels for edge, pixels in limits if pixels is not None}}
"""


@FIX.edits(OLD, fingerprint_of=("Qwen2VLImageProcessorFast.preprocess", "Qwen2VLImageProcessorFast.__init__"))
@FIX.edits(*TABLE)
def limited(node: ast.AST) -> Any:
    """Add what is missing before the question whether both are given; in 4.50, look at the attributes."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == _BOTH:
        return [*code.statements(_COMPLETED, at=node), node]
    if isinstance(node, ast.Assign) and ast.unparse(node) in _OF_THE_PROCESSOR:
        return [node, *code.statements(_LOOKED_AT, at=node)]
    return None


@FIX.recognises
def is_broken(function: ast.FunctionDef, init: Optional[ast.FunctionDef] = None) -> bool:
    """Both have to be given; or only ``size`` is looked at and then overwritten."""
    matches = any(limited(node) is not None for node in ast.walk(function))
    if function.name == "preprocess":
        parts = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.Attribute))}
        if "self.max_pixels" in parts:
            return matches and init is not None and "max_pixels=max_pixels" in ast.unparse(init)
        return matches and "size['longest_edge'] = max_pixels" in parts
    return matches and function.name in ("_further_process_kwargs", "_standardize_kwargs")
