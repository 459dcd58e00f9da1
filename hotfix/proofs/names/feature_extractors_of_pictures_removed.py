"""The proof: each class is imported in each way, and makes the pixels of 4.57.6."""

from typing import Any

import torch

from hotfix.names.feature_extractors_of_pictures_removed import FIX, NAMES
from hotfix.proofs.names.asking import same_when_pickled, words
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture

# So that nothing is as large as it is by default, or asks for another program.
EDGES = {"size": {"shortest_edge": 32, "longest_edge": 48}}
SQUARE = {"size": {"height": 32, "width": 24}}
SMALLER: dict[str, dict[str, Any]] = {
    "ConditionalDetr": EDGES,
    "DeformableDetr": EDGES,
    "Detr": EDGES,
    "DPT": SQUARE,
    "ImageGPT": {**SQUARE, "clusters": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]},
    "LayoutLMv2": {**SQUARE, "apply_ocr": False},
    "LayoutLMv3": {**SQUARE, "apply_ocr": False},
    "MaskFormer": EDGES,
    "OwlViT": SQUARE,
    "Yolos": EDGES,
}


@FIX.case(raises="ModuleNotFoundError: No module named|ImportError: cannot import name '", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import the class, make one, save it and read it, and show it a picture."""
    import tempfile
    import warnings
    from importlib import import_module

    model = next(
        kind for kind in NAMES if target.qualname in (f"feature_extraction_{kind}", f"{NAMES[kind]}FeatureExtractor")
    )
    name = f"{NAMES[model]}FeatureExtractor"
    module = "transformers" if target.module == "transformers" else f"{target.module}.{target.qualname}"
    namespace: dict[str, Any] = {}
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(f"from {module} import {name}", namespace)
        restored = namespace[name]
        extractor = restored(**SMALLER.get(NAMES[model], {}))
        with tempfile.TemporaryDirectory() as folder:
            extractor.save_pretrained(folder)
            again = restored.from_pretrained(folder)
        images = [picture(), picture()] if model == "videomae" else picture()
        for key, extract in (("made", extractor), ("read", again)):
            results[key] = extract(images, return_tensors="pt")["pixel_values"]
        home = import_module(f"transformers.models.{model}.feature_extraction_{model}")
        one_class = [restored is getattr(home, name), restored is getattr(import_module("transformers"), name)]
    return {
        **results,
        "one class": torch.tensor(one_class),
        "called": words(restored.__module__, restored.__name__),
        "pickled": same_when_pickled(restored),
    }
