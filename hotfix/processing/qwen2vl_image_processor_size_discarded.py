"""The image processors of Qwen's models and of GLM-4V throw away the size that they are given.

Symptom   Silent. ``size`` in ``preprocessor_config.json``, or as an argument, has no effect: pictures are resized to
          3136 to 1003520 pixels. Qwen3-VL, whose configuration says 65536 to 16777216, sees large pictures at a
          sixteenth of their pixels, and makes other numbers of tokens than it was trained with.
Cause     ``if size is wrong: raise ... else: size = default`` has the default for every size that is right.
Releases  Qwen2-VL, which is the image processor of Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL: slow 4.50.0 to 4.57.6, fast
          4.50.0 to 4.53.3. GLM-4V, where it is ``size`` itself that is wrong, and what is saved with it, since pictures
          are resized by constants: slow 4.53.0 to 4.55.4, fast 4.53.0 to 4.53.3.
Upstream  transformers#42910; fixed in 4.54.0 (fast), 4.56.0 (GLM-4V) and 5.0.0 (slow)
Here      The default is for no size, and for one without numbers. The size is copied: limits that are written into it
          do not reach the caller's dictionary. Bitwise equal to those releases.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.processing._places import FAST, SLOW, place

FIX = Fix(
    title="Qwen's image processors throw away the size that they are given",
    kind="silent",
    upstream=("transformers#42910",),
    fixed_in="4.54.0, 4.56.0, 5.0.0",
    everyone="the size that the caller gives is the caller's wish; no other code takes part",
    prefilter='raise ValueError("size must contain',
    exempt={
        "transformers.models.glm4v.image_processing_glm4v:Glm4vImageProcessor.preprocess": (
            "what it makes of the size goes nowhere: pictures are resized by constants"
        ),
        "transformers.models.paddleocr_vl.image_processing_paddleocr_vl_fast:PaddleOCRVLImageProcessorFast.__init__": (
            "its min_pixels and max_pixels have defaults, which win over every size all the same"
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
        elif size is None or size["shortest_edge"] is None or size["longest_edge"] is None:
            size = __DEFAULT
        else:
            size = dict(size)
    """,
)
