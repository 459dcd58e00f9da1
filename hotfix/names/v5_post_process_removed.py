"""Processors of detectors no longer have ``post_process`` and ``post_process_object_detection``.

Symptom   ``AttributeError: 'Owlv2Processor' object has no attribute 'post_process_object_detection'`` (OWL-ViT, OWLv2);
          ``AttributeError: 'DetrImageProcessor' object has no attribute 'post_process'``, and the same of YOLOS,
          OWL-ViT and Deformable DETR.
Cause     They were removed for ``post_process_grounded_object_detection`` and
          ``post_process_object_detection(threshold=0)``.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      The results of 4.57.6. ``post_process_segmentation``, ``post_process_instance`` and ``post_process_panoptic``
          are not restored, and neither are ``post_process`` of Conditional DETR, which fails in 4.57.6, and that of the
          fast class of YOLOS, which gave other boxes.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Owlv2Processor' object has no attribute 'post_process_object_detection'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "AttributeError: 'Owl…Processor' object has no attribute 'post_process_object_detection'",
        "AttributeError: '…ImageProcessor…' object has no attribute 'post_process'",
    ),
)

OF_PROCESSORS = ("owlv2.processing_owlv2:Owlv2Processor", "owlvit.processing_owlvit:OwlViTProcessor")
# How many boxes there were at most.
OF_IMAGES: dict[str, dict[str, int]] = {
    "deformable_detr:DeformableDetr": {"top_k": 100},
    "detr:Detr": {},
    "owlvit:OwlViT": {},
    "yolos:Yolos": {},
}


@FIX.adds(
    *((f"transformers.models.{owner}.post_process_object_detection", ">=5.0.0") for owner in OF_PROCESSORS),
)
def post_process_object_detection(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The boxes, by the image processor."""
    return self.image_processor.post_process_object_detection(*args, **kwargs)


def _all_boxes(limits: dict[str, int]) -> Callable[..., Any]:
    def post_process(self: Any, outputs: Any, target_sizes: Any) -> Any:
        """All boxes, whatever their scores.

        Args:
            self: the image processor.
            outputs: those of the model, with ``logits`` and ``pred_boxes``.
            target_sizes: height and width of each image, as a tensor.
        """
        if target_sizes.shape[1] != 2:
            raise ValueError("Each element of target_sizes must contain the size (h, w) of each image of the batch")
        return self.post_process_object_detection(outputs, threshold=-1.0, target_sizes=target_sizes, **limits)

    return post_process


for _owner, _limits in OF_IMAGES.items():
    _folder, _, _name = _owner.partition(":")
    _module = f"transformers.models.{_folder}.image_processing"
    _places = [
        (f"{_module}_{_folder}:{_name}ImageProcessor.post_process", ">=5.0.0"),
        (f"{_module}_pil_{_folder}:{_name}ImageProcessorPil.post_process", ">=5.4.0"),
    ]
    if _name != "Yolos":  # its fast class had other boxes
        _places.append((f"{_module}_{_folder}_fast:{_name}ImageProcessorFast.post_process", ">=5.0.0,<5.4.0"))
    FIX.adds(*_places)(_all_boxes(_limits))
