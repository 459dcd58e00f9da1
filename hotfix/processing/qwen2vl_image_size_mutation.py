"""A pixel limit for one processor or one call applies to all later ones.

Symptom   Silent. ``max_pixels`` (or ``min_pixels``) for one processor becomes the default of its class: processors
          built without it have it, too. In 4.50.0 and 4.50.1, a limit for one call of a processor applies to all its
          later calls.
Cause     The limits are written into ``self.size``, which belongs to the class or the processor, and not into a copy.
Releases  image processors of Qwen2-VL (fast, and both kinds since 5.4.0): 4.50.0 to 5.17.0. The same in video
          processors and in other models: the table below.
Upstream  transformers#36890 (calls, fixed in 4.50.2), transformers#48916 (classes, fixed in 5.18.0)
Here      The limits are written into a copy. Bitwise equal to 4.50.2 and 5.18.0.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.processing._places import FAST, PIL, SLOW, VIDEO, place

FOUR, FIVE = ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.17.0"
TABLE = (
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor.preprocess", ">=4.50.0,<=4.50.1"),
    place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast.preprocess", ">=4.50.0,<=4.50.1"),
    place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast.__init__", ">=4.50.0,<=5.3.0"),
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor.__init__", FIVE),
    place("qwen2_vl", PIL, "Qwen2VLImageProcessorPil.__init__", FIVE),
    place("qwen2_vl", VIDEO, "Qwen2VLVideoProcessor.__init__", ">=4.54.0,<=5.17.0"),
    place("glm_image", FAST, "GlmImageImageProcessorFast.__init__", FOUR),
    place("glm_image", SLOW, "GlmImageImageProcessor.__init__", FIVE),
    place("glm_image", PIL, "GlmImageImageProcessorPil.__init__", FIVE),
    place("video_llama_3", FAST, "VideoLlama3ImageProcessorFast.__init__", FOUR),
    place("video_llama_3", SLOW, "VideoLlama3ImageProcessor.__init__", FIVE),
    place("video_llama_3", PIL, "VideoLlama3ImageProcessorPil.__init__", FIVE),
    place("video_llama_3", VIDEO, "VideoLlama3VideoProcessor.__init__", ">=5.0.0,<=5.17.0"),
    place("paddleocr_vl", SLOW, "PaddleOCRVLImageProcessor.__init__", FIVE),
    place("paddleocr_vl", PIL, "PaddleOCRVLImageProcessorPil.__init__", FIVE),
    place("hunyuan_vl", SLOW, "HunYuanVLImageProcessor.__init__", ">=5.13.0,<=5.17.0"),
    place("hunyuan_vl", PIL, "HunYuanVLImageProcessorPil.__init__", ">=5.13.0,<=5.17.0"),
    place("cohere_compass", SLOW, "CohereCompassImageProcessor.__init__", ">=5.16.0,<=5.17.0"),
    place("cohere_compass", PIL, "CohereCompassImageProcessorPil.__init__", ">=5.16.0,<=5.17.0"),
)

FIX = Fix(
    title="max_pixels of one Qwen2-VL image processor or call changes all later ones",
    kind="silent",
    upstream=("transformers#36890", "transformers#48916"),
    fixed_in="4.50.2, 5.18.0",
    everyone="the size of the class is copied before it is written to; nothing else changes",
    prefilter="size = self.size",
    exempt={
        f"transformers.models.{name}:{qualname}.__init__": "upstream has not fixed it"
        for name, qualname in (
            ("mask2former.image_processing_mask2former", "Mask2FormerImageProcessor"),
            ("mask2former.image_processing_mask2former_fast", "Mask2FormerImageProcessorFast"),
            ("mask2former.image_processing_pil_mask2former", "Mask2FormerImageProcessorPil"),
            ("maskformer.image_processing_maskformer", "MaskFormerImageProcessor"),
            ("maskformer.image_processing_maskformer_fast", "MaskFormerImageProcessorFast"),
            ("maskformer.image_processing_pil_maskformer", "MaskFormerImageProcessorPil"),
        )
    }
    | {
        "transformers.models.minimax_m3_vl.image_processing_minimax_m3_vl:MiniMaxM3VLImageProcessor.__init__": (
            "upstream has fixed one of its two places"
        )
    },
)

FIX.edits(
    *TABLE,
    alternatives=True,
    old=("size = self.size", "size = self.size if size is None else size"),
    # A shallow copy keeps the type: a subclass may have None, a SizeDict or an OrderedDict there.
    new=(
        "from copy import copy\nsize = copy(self.size)",
        "from copy import copy\nsize = copy(self.size) if size is None else size",
    ),
    beside="size[__EDGE] = __PIXELS",
)
