"""The processor of a target is asked for arrays, and for tensors; detection also has an annotation."""

import inspect
from importlib import import_module
from typing import Any

import numpy
import torch

from hotfix.processing.numpy_from_fast_image_processors import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture

_PLAIN: dict[str, Any] = {"do_resize": False}
_PATCHES = {"size": {"shortest_edge": 112 * 112, "longest_edge": 224 * 224}}
_MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "BaseImageProcessorFast": ("CLIPImageProcessorFast", {**_PLAIN, "do_center_crop": False}),
    "BaseVideoProcessor": ("LlavaOnevisionVideoProcessor", _PLAIN),
    "BeitImageProcessorFast": ("BeitImageProcessorFast", {**_PLAIN, "do_center_crop": False}),
    "Qwen2VLImageProcessorFast": ("Qwen2VLImageProcessorFast", _PATCHES),
    "Glm4vImageProcessorFast": ("Glm4vImageProcessorFast", _PATCHES),
    "PixtralImageProcessorFast": ("PixtralImageProcessorFast", {**_PLAIN, "patch_size": 4}),
}
_ANNOTATION = {"image_id": 3, "annotations": [{"bbox": [1, 2, 30, 40], "category_id": 1, "area": 4, "iscrowd": 0}]}


@FIX.case(
    raises="ValueError: Only returning PyTorch tensors is currently supported",
    packages=PACKAGES,
    oracles={"*": "5.4.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The numbers that the processor gives, and whether tensors are among them."""
    name = target.qualname.partition(".")[0]
    made, arguments = _MADE.get(name, (name, _PLAIN))
    if made.startswith("Ernie"):
        made, arguments = _ernie(), {"draw_on_frames": False}  # it has a font of its own
    cls = getattr(import_module("transformers"), made)
    image: Any = picture(112, 112)
    images = numpy.stack([numpy.asarray(image)] * 4) if made.endswith("VideoProcessor") else [image]
    given: dict[str, Any] = {"annotations": [_ANNOTATION]} if "Detr" in made else {}
    if "Matte" in made:
        given = {"trimaps": [numpy.asarray(image.convert("L"))]}
    results = {}
    for kind in ("pt",) if _leaves_it_to_the_base(cls, name) else ("np", "pt"):
        for key, value in cls(**arguments)(images, return_tensors=kind, **given).items():
            leaves = _leaves(value)
            if kind == "np":
                results[f"{key} has tensors"] = torch.tensor(any(map(torch.is_tensor, leaves)))
            results[f"{kind} {key}"] = torch.cat([torch.as_tensor(leaf).reshape(-1) for leaf in leaves])
    return results


def _leaves_it_to_the_base(cls: Any, name: str) -> bool:
    """Whether the target checks nothing in this release; the base class has a cell of its own."""
    if name.startswith("Base"):
        return False
    try:
        base = import_module("transformers.image_processing_utils_fast").BaseImageProcessorFast
    except (ImportError, AttributeError):
        return False
    if "preprocess" not in vars(base):
        return False
    inherited = next(kind for kind in cls.__mro__ if "preprocess" in vars(kind)) is base
    return inherited or "super().preprocess(" in inspect.getsource(cls.preprocess)


def _leaves(value: Any) -> list[Any]:
    """The arrays, tensors and numbers of a result, at any depth."""
    if hasattr(value, "values") and not torch.is_tensor(value):
        value = list(value.values())
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def _ernie() -> str:
    """The name that the video processor of ERNIE 4.5 VL has; 5.3.0 changed it."""
    names = ("Ernie4_5_VLMoeVideoProcessor", "Ernie4_5_VL_MoeVideoProcessor")
    return next(name for name in names if hasattr(import_module("transformers"), name))
