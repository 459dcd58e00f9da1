"""A processor from a file of 4.45 to 4.48, and one of 4.50."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.processing.qwen2vl_saved_size_pixels import FIX
from hotfix.proofs.processing._pictures import PACKAGES, SMALL, edges, pixels
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of

_LEAST, _MOST = SMALL["shortest_edge"], SMALL["longest_edge"]
_BESIDE = {"min_pixels": _LEAST, "max_pixels": _MOST}


@FIX.case(packages=PACKAGES, raises="ValueError: size must contain 'shortest_edge' and 'longest_edge' keys")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The limits of both, and their numbers of patches for a picture."""
    results = {}
    for name, size in (("4.50", {"shortest_edge": _LEAST, "longest_edge": _MOST}), ("4.48", {**_BESIDE})):
        processor = loaded(class_of(target), {"size": size, **_BESIDE})
        results[f"{name}: limits"] = edges(processor)
        results[f"{name}: patches"] = pixels(processor)["image_grid_thw"]
    return results


def loaded(cls: Any, said: dict[str, Any]) -> Any:
    """Load a processor from a folder.

    Args:
        cls: the class of the processor.
        said: keys of preprocessor_config.json besides the constant ones.
    """
    same = {
        "patch_size": 14,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_processor_type": "Qwen2VLImageProcessor",
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "preprocessor_config.json").write_text(json.dumps({**same, **said}), encoding="utf-8")
        return cls.from_pretrained(folder)
