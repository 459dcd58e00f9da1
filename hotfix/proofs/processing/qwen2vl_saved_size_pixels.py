"""A processor that 4.45 to 4.48 have saved is loaded, and one that 4.50 has saved."""

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
    """The limits of both, and how many patches they make of a picture."""
    told = {}
    for name, size in (("4.50", {"shortest_edge": _LEAST, "longest_edge": _MOST}), ("4.48", {**_BESIDE})):
        processor = loaded(class_of(target), {"size": size, **_BESIDE})
        told[f"{name}: limits"] = edges(processor)
        told[f"{name}: patches"] = pixels(processor)["image_grid_thw"]
    return told


def loaded(cls: Any, said: dict[str, Any]) -> Any:
    """A processor that was loaded from a folder.

    Args:
        cls: its class.
        said: what preprocessor_config.json says besides what is always the same.
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
