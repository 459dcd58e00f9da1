"""The proof: the pictures of a batch are padded as notebooks do that."""

from __future__ import annotations

from importlib import import_module

import torch

from hotfix.processing.detr_pad_of_a_batch import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*pad\\(\\) got an unexpected keyword argument 'return_",
    oracles={"*": "4.45.2"},
    packages={"pillow": "11.3.0", "torchvision": "0.28.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two pictures of different sizes, with the mask and without."""
    module = import_module("transformers")
    owner = target.qualname.partition(".")[0]
    processor = getattr(module, owner, None) or getattr(module, owner.removesuffix("Pil"))
    pictures = [testbed.randn(3, 20, 30), testbed.randn(3, 24, 28)]
    whole = processor().pad(pictures, return_tensors="pt")
    bare = processor().pad([picture.numpy() for picture in pictures], return_pixel_mask=False, return_tensors="np")
    values = {"pixel_values": whole["pixel_values"], "pixel_mask": whole["pixel_mask"]}
    return {**values, "bare": torch.as_tensor(bare["pixel_values"]), "keys": torch.tensor(len(bare))}
