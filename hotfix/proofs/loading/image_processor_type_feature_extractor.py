"""The proof: files that name a feature extractor are loaded, and a picture has the pixels of 4.57.6."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.image_processor_type_feature_extractor import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture

# So that nothing is as large as it is by default.
SETTINGS: dict[str, dict[str, Any]] = {
    "ViT": {"size": {"height": 32, "width": 24}},
    "CLIP": {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}},
    "Segformer": {"size": {"height": 32, "width": 24}},
}


@FIX.case(
    raises="ValueError: Unrecognized image processor in ",
    packages=PACKAGES,
    oracles={"*": "4.57.6"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The pixels of a picture, by processors based on pillow, which the old classes were."""
    from transformers import AutoImageProcessor, AutoProcessor

    results = {}
    for name, settings in SETTINGS.items():
        with TemporaryDirectory() as folder:
            written = {"image_processor_type": f"{name}FeatureExtractor", "do_resize": True, **settings}
            Path(folder, "preprocessor_config.json").write_text(json.dumps(written), encoding="utf-8")
            Path(folder, "config.json").write_text(json.dumps({"model_type": name.lower()}), encoding="utf-8")
            # The other two models have processors with tokenizers.
            for kind in (AutoImageProcessor, AutoProcessor) if name == "ViT" else (AutoImageProcessor,):
                processor = kind.from_pretrained(folder, use_fast=False)
                results[f"{name}, {kind.__name__}"] = processor(picture(), return_tensors="pt")["pixel_values"]
    return results
