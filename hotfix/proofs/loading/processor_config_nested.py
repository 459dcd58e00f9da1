"""The feature extractor of Whisper, and an image processor, as 5.x writes them, and as 4.x does."""

from typing import Any

import torch

from hotfix.loading.processor_config_nested import FIX
from hotfix.proofs.loading._written import folder
from hotfix.proofs.testbed import Target, Testbed

EXTRACTOR: dict[str, Any] = {
    "chunk_length": 30,
    "feature_extractor_type": "WhisperFeatureExtractor",
    "feature_size": 40,
    "hop_length": 160,
    "n_fft": 400,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": False,
    "sampling_rate": 16000,
}
IMAGES: dict[str, Any] = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 28}}


@FIX.case(raises="OSError", oracles={"*": "4.56.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Settings for both classes, and for a processor, from each kind of file."""
    from transformers.feature_extraction_utils import FeatureExtractionMixin
    from transformers.image_processing_utils import ImageProcessingMixin

    nested = {"processor_class": "WhisperProcessor", "feature_extractor": EXTRACTOR, "image_processor": IMAGES}
    results = {}
    for name, files in (
        ("old", {"preprocessor_config_json": {**EXTRACTOR, **IMAGES}}),
        ("new", {"processor_config_json": nested}),
    ):
        with folder(**files) as place:
            extractor, left = FeatureExtractionMixin.get_feature_extractor_dict(place, revision="main", other=1)
            images, more = ImageProcessingMixin.get_image_processor_dict(place, local_files_only=True, other=1)
            if name == "new" and target.qualname.startswith("ProcessorMixin"):
                results["what is left to a processor"] = _left_to_a_processor(place)
        results[f"{name}, extractor"] = torch.tensor([extractor["feature_size"], extractor["hop_length"], len(left)])
        results[f"{name}, images"] = torch.tensor([images["size"]["shortest_edge"], len(more)])
    return results


def _left_to_a_processor(place: str) -> torch.Tensor:
    from transformers import CLIPProcessor

    settings, left = CLIPProcessor.get_processor_dict(place, other=1)
    return torch.tensor(["image_processor" in settings, "processor_class" in settings, len(left)])
