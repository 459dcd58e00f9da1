"""Processors of pictures no longer have a ``feature_extractor``.

Symptom   ``AttributeError: 'TrOCRProcessor' object has no attribute 'feature_extractor'``, from
          ``Seq2SeqTrainer(tokenizer=processor.feature_extractor)`` and ``processor.feature_extractor.size = …``, as the
          notebooks of TrOCR and Donut have it.
Cause     It was the old name of ``image_processor``, and was removed.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      It is the ``image_processor``, for the processors of 4.57.6 that had both.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'TrOCRProcessor' object has no attribute 'feature_extractor'",
    kind="removed-api",
    group="removed-names",
    errors=("AttributeError: '…Processor' object has no attribute 'feature_extractor'",),
)

_CLASSES = {
    "clip": "CLIP",
    "clipseg": "CLIPSeg",
    "donut": "Donut",
    "flava": "Flava",
    "layoutlmv2": "LayoutLMv2",
    "layoutlmv3": "LayoutLMv3",
    "layoutxlm": "LayoutXLM",
    "owlvit": "OwlViT",
    "trocr": "TrOCR",
    "vilt": "Vilt",
    "vision_text_dual_encoder": "VisionTextDualEncoder",
    "x_clip": "XCLIP",
}


@FIX.adds_made(
    *(
        (f"transformers.models.{family}.processing_{family}:{name}Processor.feature_extractor", ">=5.0.0")
        for family, name in _CLASSES.items()
    ),
    of_instances=True,
)
def feature_extractor(module: Any) -> property:
    """The image processor, by the name that it had before."""
    return property(lambda self: self.image_processor)
