"""The proof: a picture has the pixels of 4.57.6, for a file of any age."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.auto_feature_extractor_of_pictures import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture


@FIX.case(raises="ValueError: Unrecognized feature extractor in ", packages=PACKAGES, oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The pixels of a picture, by the processors of ViT and SegFormer."""
    from transformers import AutoFeatureExtractor

    results = {}
    settings = {"do_resize": True, "size": {"height": 32, "width": 24}}
    for model, name in (("vit", "ViT"), ("segformer", "Segformer")):
        for key in ("image_processor_type", "feature_extractor_type", "none"):
            kind = "ImageProcessor" if key == "image_processor_type" else "FeatureExtractor"
            with TemporaryDirectory() as folder:
                written = {key: f"{name}{kind}", **settings}
                Path(folder, "preprocessor_config.json").write_text(json.dumps(written), encoding="utf-8")
                Path(folder, "config.json").write_text(json.dumps({"model_type": model}), encoding="utf-8")
                processor = AutoFeatureExtractor.from_pretrained(folder)
            results[f"{name}, {key}"] = processor(picture(), return_tensors="pt")["pixel_values"]
    return results
