"""Shared by the cases of processors: packages, sizes, and results for a picture."""

from typing import Any, Optional

import torch

from hotfix.proofs.zoo import picture

# Packages of the matrix: torchvision installs pillow, and the fast processors need it.
PACKAGES: dict[str, Optional[str]] = {"torchvision": "0.28.0", "flash-attn": None}

SMALL = {"shortest_edge": 4 * 28 * 28, "longest_edge": 100 * 28 * 28}


def pixels(processor: Any, **arguments: Any) -> dict[str, torch.Tensor]:
    """Patches of the picture, and their numbers: frames, rows and columns."""
    output = processor(images=picture(), return_tensors="pt", **arguments)
    return {name: output[name] for name in ("pixel_values", "image_grid_thw")}


def edges(processor: Any) -> torch.Tensor:
    """A processor's lower and upper limit of pixels per picture."""
    return torch.tensor([processor.size[name] for name in ("shortest_edge", "longest_edge")])


def tokens(processor: Any, **arguments: Any) -> dict[str, torch.Tensor]:
    """Token ids and patches of the picture with a word after it."""
    output = processor(text=["<|image_pad|> stripes"], images=[picture()], return_tensors="pt", **arguments)
    return {name: output[name] for name in ("input_ids", "pixel_values", "image_grid_thw")}
