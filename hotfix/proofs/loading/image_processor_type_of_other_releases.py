"""The proof: files that name a class of another release are loaded, as with the name that the class has here."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from packaging.version import Version

from hotfix.loading.image_processor_type_of_other_releases import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture

# So that nothing is as large as it is by default.
SIZES: dict[str, dict[str, Any]] = {
    "vit": {"size": {"height": 32, "width": 24}},
    "clip": {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}},
    "segformer": {"size": {"height": 32, "width": 24}},
    "qwen2_vl": {"min_pixels": 3136, "max_pixels": 12544, "patch_size": 14},
}


@FIX.case(raises="ValueError: Unrecognized image processor in ", packages=PACKAGES, oracles={"*": ""})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The pixels of a picture, by processors based on pillow, and the difference from those of the right name."""
    import transformers

    release = Version(transformers.__version__)
    if release.major >= 5:
        names = {"vit": "ViTFeatureExtractor", "clip": "CLIPFeatureExtractor", "segformer": "SegformerFeatureExtractor"}
    elif release < Version("4.48"):
        names = {"clip": "CLIPImageProcessorFast", "segformer": "SegformerImageProcessorFast"}
    else:
        names = {}
    if release >= Version("4.48"):
        names["qwen2_vl"] = "Qwen2_5_VLImageProcessor"
    results = {}
    for model, name in names.items():
        pixels, right = (_pixels(model, each) for each in (name, _right(name)))
        results[name] = pixels
        results[f"{name}, difference"] = pixels - right
    return results


def _right(name: str) -> str:
    name = name.removesuffix("Fast").replace("FeatureExtractor", "ImageProcessor")
    return name.replace("Qwen2_5_VL", "Qwen2VL")


def _pixels(model: str, name: str) -> torch.Tensor:
    """The pixels by a processor of a file with this name of its class, loaded with and without the processor's own."""
    from transformers import AutoImageProcessor, AutoProcessor

    with TemporaryDirectory() as folder:
        written = {"image_processor_type": name, "do_resize": True, **SIZES[model]}
        Path(folder, "preprocessor_config.json").write_text(json.dumps(written), encoding="utf-8")
        Path(folder, "config.json").write_text(json.dumps({"model_type": model}), encoding="utf-8")
        # The other models have processors with tokenizers.
        kinds = (AutoImageProcessor, AutoProcessor) if model == "vit" else (AutoImageProcessor,)
        each = [kind.from_pretrained(folder, use_fast=False)(picture(), return_tensors="pt") for kind in kinds]
    return torch.cat([batch["pixel_values"] for batch in each])
