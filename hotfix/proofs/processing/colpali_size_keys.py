"""A video, processed with and without the limits in the size of the file."""

from typing import Any

import torch

from hotfix.processing.colpali_size_keys import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed

LIMITS = {"min_pixels": 56 * 56, "max_pixels": 112 * 112}
EDGES = {"shortest_edge": 56 * 56, "longest_edge": 112 * 112}


@FIX.case(raises="ValueError: size must have one of the following set of keys", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Patches, and the resulting size."""
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    video = testbed.randint(0, 256, 4, 3, 168, 224, seed=1).to(torch.uint8)

    def patches(**settings: Any) -> dict[str, torch.Tensor]:
        processor = Qwen2VLVideoProcessor.from_dict({"do_normalize": True, **settings})
        made = processor(videos=[video], return_tensors="pt", do_sample_frames=False)
        return {
            "pixels": made["pixel_values_videos"],
            "grid": made["video_grid_thw"],
            "size": torch.tensor([processor.size["shortest_edge"], processor.size["longest_edge"]]),
        }

    files = {"twice": {"size": {**EDGES, **LIMITS}, **LIMITS}, "once": {"size": dict(EDGES), **LIMITS}}
    return {f"{file}: {name}": value for file, given in files.items() for name, value in patches(**given).items()}
