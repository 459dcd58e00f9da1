"""The image processors of Qwen's models and of GLM-4V ignore their ``size`` argument.

Symptom   Silent. ``size`` in ``preprocessor_config.json``, or as an argument, has no effect: pictures are resized to
          3136 to 1003520 pixels. Qwen3-VL, whose configuration says 65536 to 16777216, sees large pictures at a
          sixteenth of their pixels, with another number of tokens than in training.
Cause     ``if size is wrong: raise ... else: size = default`` replaces every right size with the default.
Releases  Qwen2-VL, whose image processor Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL use: slow 4.50.0 to 4.57.6, fast 4.50.0
          to 4.53.3. GLM-4V: slow 4.53.0 to 4.55.4, fast 4.53.0 to 4.53.3; there only ``size`` itself and the saved file
          are wrong, since pictures are resized by constants.
Upstream  transformers#42910; fixed in 4.54.0 (fast), 4.56.0 (GLM-4V) and 5.0.0 (slow)
Here      The default replaces only a missing size, one without numbers, and one that means the edges of a picture: its
          ``longest_edge`` is less than 56 * 56 pixels (of which the releases with the fix make 4 patches). Only the two
          edges are copied: limits that are written into it later do not reach the caller's dictionary, and other keys,
          such as a ``max_pixels`` that repeats an edge, are ignored as before. The releases with the fix refuse them.
          Otherwise bitwise equal to those releases.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.processing._places import FAST, SLOW, place

FIX = Fix(
    title="size in preprocessor_config.json is ignored by Qwen2-VL, Qwen2.5-VL and Qwen3-VL image processors",
    kind="silent",
    upstream=("transformers#42910",),
    fixed_in="4.54.0, 4.56.0, 5.0.0",
    everyone="only for a size from the caller or the file; no other code takes part",
    prefilter='raise ValueError("size must contain',
    exempt={
        "transformers.models.glm4v.image_processing_glm4v:Glm4vImageProcessor.preprocess": (
            "its size is not used: pictures are resized by constants"
        ),
        "transformers.models.paddleocr_vl.image_processing_paddleocr_vl_fast:PaddleOCRVLImageProcessorFast.__init__": (
            "its min_pixels and max_pixels have defaults, which override every size anyway"
        ),
    },
)

FIX.edits(
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor.__init__", ">=4.50.0,<=4.57.6"),
    place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast.__init__", ">=4.50.0,<=4.53.3"),
    place("glm4v", SLOW, "Glm4vImageProcessor.__init__", ">=4.53.0,<=4.55.4"),
    place("glm4v", FAST, "Glm4vImageProcessorFast.__init__", ">=4.53.0,<=4.53.3"),
    old="""
        if size is not None and ("shortest_edge" not in size or "longest_edge" not in size):
            raise ValueError(__MESSAGE)
        else:
            size = __DEFAULT
    """,
    new="""
        if size is not None and ("shortest_edge" not in size or "longest_edge" not in size):
            raise ValueError(__MESSAGE)
        elif size is None or size["shortest_edge"] is None or not (size["longest_edge"] or 0) >= 56 * 56:
            size = __DEFAULT
        else:
            size = {"shortest_edge": size["shortest_edge"], "longest_edge": size["longest_edge"]}
    """,
)
