"""The proof: an image processor is called as code for 4.x calls it."""

from importlib import import_module
from importlib.util import find_spec

import torch

from hotfix.names.image_processors_without_videos import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture


@FIX.case(
    raises="TypeError: .*got an unexpected keyword argument 'videos'",
    packages={"torchvision": "0.28.0", "flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The patches of a picture that needs no resizing, their numbers, and the difference from a call without it."""
    module, name = target.module, target.qualname.partition(".")[0]
    if find_spec(module) is None:  # before 5.4, the processor without torch has the plain name
        module, name = module.replace("_pil_", "_"), name.removesuffix("Pil")
    processor = getattr(import_module(module), name)(size={"shortest_edge": 56 * 56, "longest_edge": 112 * 112})
    made = processor(images=[picture(56, 84)], videos=None, return_tensors="pt")
    plain = processor(images=[picture(56, 84)], return_tensors="pt")
    results = {name: made[name] for name in ("pixel_values", "image_grid_thw")}
    return {**results, "difference": made["pixel_values"] - plain["pixel_values"]}
