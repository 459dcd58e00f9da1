"""How serving engines count the tokens of an image, and how many transformers' processors produce. Runs in a child.

The rule is that of Qwen2-VL (its ``smart_resize``). vLLM calls transformers' function; sglang has its own. Both sides
are rounded to the nearest multiple of 28 (patches of 14 pixels, merged two by two). If the area then exceeds a limit,
both sides are scaled by the square root of the ratio, rounded down above ``max_pixels`` and up below ``min_pixels``.
A token is 28 by 28 pixels.

vLLM loads the image processor with the limits of the request, takes the limits from the processor's attributes, and
calls it with the same limits. sglang resizes by limits of its own, 4 and 16384 tokens, and passes the result on.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

SIDE = 28
LARGE = {"min_pixels": 4 * SIDE**2, "max_pixels": 16384 * SIDE**2}  # the limits in the checkpoints, and those of sglang
CLASSES = {
    "slow": ("transformers.models.qwen2_vl.image_processing_qwen2_vl", "Qwen2VLImageProcessor"),
    "fast": ("transformers.models.qwen2_vl.image_processing_qwen2_vl_fast", "Qwen2VLImageProcessorFast"),
}
# 50 sizes: squares, slits, primes, exact multiples, and sizes that round up or down.
SIZES = [(side, side) for side in (28, 29, 41, 42, 43, 56, 69, 70, 71, 112, 197, 224, 225, 293, 350)] + [
    (height, width) for height in (28, 37, 84, 126, 211) for width in (30, 98, 151, 210, 317, 420, 563)
]


def resized(height, width, min_pixels, max_pixels):
    """The sides, in pixels, to which an engine resizes an image."""
    rows, columns = (max(SIDE, round(side / SIDE) * SIDE) for side in (height, width))
    if rows * columns > max_pixels:
        scale = math.sqrt(height * width / max_pixels)
        rows, columns = (max(SIDE, math.floor(side / scale / SIDE) * SIDE) for side in (height, width))
    elif rows * columns < min_pixels:
        scale = math.sqrt(min_pixels / (height * width))
        rows, columns = (math.ceil(side * scale / SIDE) * SIDE for side in (height, width))
    return rows, columns


def counted(height, width, min_pixels, max_pixels):
    """The number of tokens that an engine reserves."""
    rows, columns = resized(height, width, min_pixels, max_pixels)
    return rows * columns // SIDE**2


def given(processor, image, **arguments):
    """The number of tokens that the processor's pixels produce."""
    output = processor(images=[image], return_tensors="pt", **arguments)
    grid = output["image_grid_thw"][0]
    assert output["pixel_values"].shape[0] == int(grid.prod())
    return int(grid.prod()) // processor.merge_size**2


SMALL, BIG = 30 * SIDE**2, 90 * SIDE**2
REQUESTS = {
    "none": {},
    "max_pixels": {"max_pixels": BIG},
    "both": {"min_pixels": SMALL, "max_pixels": BIG},
    "min_pixels": {"min_pixels": SMALL},
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "pixels": dict(LARGE),
    "size": {"size": {"shortest_edge": LARGE["min_pixels"], "longest_edge": LARGE["max_pixels"]}},
    "both": {**LARGE, "size": {"shortest_edge": LARGE["min_pixels"], "longest_edge": LARGE["max_pixels"]}},
}


def tables(testbed, target):
    """Both counts for every size.

    Returns:
        ``ENGINE: KIND, CONFIGURATION, LIMITS``: a row for each size: height, width, tokens that the engine counts, and
        tokens of the processor's pixels. There are no rows if the processor has no limits to count by.
    """
    import torch
    from PIL import Image

    counts = {}
    for kind in target.qualname.split(", "):
        module, name = CLASSES[kind]
        cls = getattr(import_module(module), name)
        for configuration, written in CONFIGURATIONS.items():
            for limits, request in REQUESTS.items():
                rows = []
                for height, width in SIZES:
                    processor, _ = cls.from_dict(dict(written), return_unused_kwargs=True, **request)
                    own = processor.min_pixels, processor.max_pixels
                    if None in own:
                        break
                    tokens = given(processor, Image.new("RGB", (width, height)), **request)
                    rows.append((height, width, counted(height, width, *own), tokens))
                counts[f"vllm: {kind}, {configuration}, {limits}"] = torch.tensor(rows).reshape(-1, 4)
            rows = []
            for height, width in SIZES:
                processor = cls.from_dict(dict(written))
                rows_, columns = resized(height, width, **LARGE)
                tokens = given(processor, Image.new("RGB", (columns, rows_)))
                rows.append((height, width, counted(height, width, **LARGE), tokens))
            counts[f"sglang: {kind}, {configuration}, none"] = torch.tensor(rows)
    return counts
