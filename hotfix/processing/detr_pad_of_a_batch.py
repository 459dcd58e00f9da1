"""The image processors of DETR pad no batch any more.

Symptom   ``TypeError: DetrImageProcessor.pad() got an unexpected keyword argument 'return_tensors'`` in the function
          with which notebooks collate a batch: ``processor.pad(pixel_values, return_tensors="pt")``.
Cause     The processors that compute with torch have a method of the same name for one picture, and took the place of
          the others in 5.4.0.
Releases  5.4.0 and later
Upstream  by design (not put back)
Here      After the error, the pictures of a list are padded at the bottom and on the right to the largest height and
          width, with a mask of the pixels, as the processor of 5.3.0 does. Annotations are not padded.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import Any, Callable, Optional

from hotfix.fix import Fix

# The folder of each model, and the beginning of the names of its classes.
MODELS = {
    "conditional_detr": "ConditionalDetr",
    "deformable_detr": "DeformableDetr",
    "detr": "Detr",
    "grounding_dino": "GroundingDino",
    "rt_detr": "RTDetr",
    "yolos": "Yolos",
}
_FAST = "the fast processors up to 5.3.0 never padded a batch"

FIX = Fix(
    title="TypeError: DetrImageProcessor.pad() got an unexpected keyword argument 'return_tensors'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "TypeError: …ImageProcessor….pad() got an unexpected keyword argument 'return_tensors'",
        "TypeError: …ImageProcessor….pad() got an unexpected keyword argument 'return_pixel_mask'",
    ),
    prefilter="padded_size",
    exempt={
        "transformers.models.rf_detr.image_processing_rf_detr:RfDetrImageProcessor.pad": "it is newer than such code",
        **{
            f"transformers.models.{folder}.image_processing_{folder}_fast:{name}ImageProcessorFast.pad": _FAST
            for folder, name in MODELS.items()
        },
    },
)


@FIX.wraps(
    *(
        (f"transformers.models.{folder}.image_processing_{file}:{name}ImageProcessor{ending}.pad", ">=5.4.0")
        for folder, name in MODELS.items()
        for file, ending in ((folder, ""), (f"pil_{folder}", "Pil"))
    ),
    on_error=True,
)
def of_a_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    """Called with a list, it pads a batch."""

    @wraps(original)
    def pad(self: Any, images: Any, *args: Any, **kwargs: Any) -> Any:
        known = {"constant_values", "return_pixel_mask", "return_tensors"}
        if args or type(images) not in (list, tuple) or not images or not kwargs.keys() <= known:
            return original(self, images, *args, **kwargs)
        return padded(images, **kwargs)

    return pad


def padded(
    images: Any, constant_values: float = 0, return_pixel_mask: bool = True, return_tensors: Optional[str] = None
) -> Any:
    """A batch of pictures of one size.

    Args:
        images: arrays or tensors, each of shape ``(channels, height, width)``.
        constant_values: the value of new pixels.
        return_pixel_mask: whether to return a mask, of shape ``(height, width)`` for each picture, with ones where it
            has pixels.
        return_tensors: ``pt`` or ``np``.
    """
    import numpy

    arrays = [numpy.asarray(image) for image in images]
    height, width = (max(array.shape[axis] for array in arrays) for axis in (-2, -1))
    data: dict[str, Any] = {"pixel_values": [], "pixel_mask": []}
    for array in arrays:
        below, right = height - array.shape[-2], width - array.shape[-1]
        data["pixel_values"].append(numpy.pad(array, ((0, 0), (0, below), (0, right)), constant_values=constant_values))
        mask = numpy.zeros((height, width), dtype=numpy.int64)
        mask[: array.shape[-2], : array.shape[-1]] = 1
        data["pixel_mask"].append(mask)
    if not return_pixel_mask:
        del data["pixel_mask"]
    batch = import_module("transformers.image_processing_utils").BatchFeature
    return batch(data=data, tensor_type=return_tensors)


@FIX.recognises
def pads_one_picture(function: Any) -> bool:
    """Whether it takes one picture, its annotation, and the size that it gets."""
    return {"image", "padded_size", "annotation", "update_bboxes"} <= {argument.arg for argument in function.args.args}
