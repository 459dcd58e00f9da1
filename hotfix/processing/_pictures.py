"""What the fixes of this shelf share: where processors are, packages, a picture, and what becomes of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target

# What the matrix runs the processors with: torchvision brings pillow, and the fast processors need it.
PACKAGES: dict[str, Optional[str]] = {"torchvision": "0.28.0", "flash-attn": None}

SMALL = {"shortest_edge": 4 * 28 * 28, "longest_edge": 100 * 28 * 28}

# Where a model has its processors. In 5.4.0 the fast ones of images have become the only ones, and stand in SLOW.
SLOW, FAST, PIL = "image_processing_{}", "image_processing_{}_fast", "image_processing_pil_{}"
VIDEO = "video_processing_{}"


def place(model: str, kind: str, qualname: str, releases: str) -> tuple[str, str]:
    """A target in one of the modules of a model, and the releases in which it is broken."""
    return f"transformers.models.{model}.{kind.format(model)}:{qualname}", releases


def owner(target: Target) -> Any:
    """The class to which the target belongs."""
    return getattr(import_module(target.module), target.qualname.partition(".")[0])


def picture(height: int = 420, width: int = 560) -> Any:
    """Stripes, circles and a gradient, as a PIL image."""
    import numpy
    from PIL import Image

    rows, columns = numpy.mgrid[:height, :width]
    stripes = (rows * 7 + columns * 3) % 256
    circles = numpy.hypot(rows - height / 2, columns - width / 2) * 2 % 256
    gradient = columns * 255 // width
    return Image.fromarray(numpy.stack([stripes, circles, gradient], axis=-1).astype(numpy.uint8))


def pixels(processor: Any, **arguments: Any) -> dict[str, torch.Tensor]:
    """Patches of the picture, and how many there are: frames, rows and columns."""
    output = processor(images=picture(), return_tensors="pt", **arguments)
    return {name: output[name] for name in ("pixel_values", "image_grid_thw")}


def edges(processor: Any) -> torch.Tensor:
    """The smallest and the largest number of pixels that a processor makes of a picture."""
    import torch

    return torch.tensor([processor.size[name] for name in ("shortest_edge", "longest_edge")])


def tokens(processor: Any, **arguments: Any) -> dict[str, torch.Tensor]:
    """The picture with a word behind it: what `pixels` tells, and the tokens."""
    output = processor(text=["<|image_pad|> stripes"], images=[picture()], return_tensors="pt", **arguments)
    return {name: output[name] for name in ("input_ids", "pixel_values", "image_grid_thw")}


def qwen_processor(cls: Any, image_processor: Any) -> Any:
    """A processor of Qwen's with a tokenizer that knows one word and the tokens of a picture and of a video."""
    from tokenizers import Tokenizer, models
    from transformers import Qwen2TokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "stripes": 1}, unk_token="<unk>"))
    words.add_special_tokens(["<|image_pad|>", "<|video_pad|>", "<|endoftext|>"])
    return cls(image_processor, Qwen2TokenizerFast(tokenizer_object=words))
