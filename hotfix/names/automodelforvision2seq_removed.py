"""``AutoModelForVision2Seq`` and its mappings are gone.

Symptom   ``ImportError: cannot import name 'AutoModelForVision2Seq' from 'transformers'`` from older releases of
          LLaMA-Factory, trl, verl and VLMEvalKit; trl also imports
          ``MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES``.
Cause     The class and its mappings were removed in favour of ``AutoModelForImageTextToText``.
Releases  5.0.0 and later
Upstream  transformers#45278 (not put back)
Here      A class with a mapping of its own: the 26 model types of 4.57.6, each with the class that
          ``AutoModelForImageTextToText`` has for it in 5.x. Other types are refused, as in 4.57.6. There is no
          deprecation warning.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'AutoModelForVision2Seq' from 'transformers'",
    kind="removed-api",
    upstream=("transformers#45278",),
    group="removed-names",
)

TYPES = """
    blip blip-2 chameleon git idefics2 idefics3 instructblip instructblipvideo kosmos-2 kosmos-2.5 llava llava_next
    llava_next_video llava_onevision mistral3 mllama ovis2 paligemma pix2struct qwen2_5_vl qwen2_vl qwen3_vl
    qwen3_vl_moe video_llava vipllava vision-encoder-decoder
"""
LACKING = ">=5.0.0"
AUTO = "transformers.models.auto.modeling_auto"


@FIX.adds_made((f"{AUTO}:MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES", LACKING))
def names(auto: Any) -> Any:
    """The name of the class for each model type, in the old order."""
    present = auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    return type(present)((kind, present[kind]) for kind in TYPES.split() if kind in present)


@FIX.adds_made((f"{AUTO}:MODEL_FOR_VISION_2_SEQ_MAPPING", LACKING), exported_by=("transformers",))
def mapping(auto: Any) -> Any:
    """The class for each configuration class, imported on first use."""
    return type(auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING)(
        auto.CONFIG_MAPPING_NAMES, auto.MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES
    )


@FIX.adds_made((f"{AUTO}:AutoModelForVision2Seq", LACKING), exported_by=("transformers", "transformers.models.auto"))
def auto_class(auto: Any) -> type:
    """The class, built like its neighbours."""
    members = {"_model_mapping": auto.MODEL_FOR_VISION_2_SEQ_MAPPING, "__module__": AUTO}
    made: type = auto.auto_class_update(
        type("AutoModelForVision2Seq", (auto._BaseAutoModelClass,), members), head_doc="vision-to-text modeling"
    )
    return made
