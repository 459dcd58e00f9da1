"""What the cases of processors share: packages, sizes, and what becomes of a picture."""

from typing import Any, Optional

import torch

from hotfix.proofs.zoo import picture

# What the matrix runs the processors with: torchvision brings pillow, and the fast processors need it.
PACKAGES: dict[str, Optional[str]] = {"torchvision": "0.28.0", "flash-attn": None}

SMALL = {"shortest_edge": 4 * 28 * 28, "longest_edge": 100 * 28 * 28}


def pixels(processor: Any, **arguments: Any) -> dict[str, torch.Tensor]:
    """Patches of the picture, and how many there are: frames, rows and columns."""
    output = processor(images=picture(), return_tensors="pt", **arguments)
    return {name: output[name] for name in ("pixel_values", "image_grid_thw")}


def edges(processor: Any) -> torch.Tensor:
    """The smallest and the largest number of pixels that a processor makes of a picture."""
    return torch.tensor([processor.size[name] for name in ("shortest_edge", "longest_edge")])


def tokens(processor: Any, **arguments: Any) -> dict[str, torch.Tensor]:
    """The picture with a word behind it: what `pixels` tells, and the tokens."""
    output = processor(text=["<|image_pad|> stripes"], images=[picture()], return_tensors="pt", **arguments)
    return {name: output[name] for name in ("input_ids", "pixel_values", "image_grid_thw")}
