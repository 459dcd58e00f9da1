"""The proof: boxes are made of random outputs."""

from importlib import import_module
from types import SimpleNamespace

import torch

from hotfix.names.v5_post_process_removed import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* has no attribute 'post_process", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The boxes of two images."""
    owner, _, name = target.qualname.partition(".")
    outputs = SimpleNamespace(logits=testbed.randn(2, 80, 6), pred_boxes=testbed.randn(2, 80, 4, seed=1).sigmoid())
    sizes = torch.tensor([[20, 30], [40, 50]])
    try:
        module = import_module(target.module)
    except ImportError:  # 4.57.6 has no class that needs no torchvision
        module, owner = import_module(target.module.replace("_pil", "")), owner.replace("Pil", "")
    if "ImageProcessor" in owner:
        boxes = getattr(getattr(module, owner)(), name)(outputs, sizes)
    else:
        images = f"{target.module.replace('processing_', 'image_processing_')}"
        processor = object.__new__(getattr(module, owner))
        processor.image_processor = getattr(import_module(images), owner.replace("Processor", "ImageProcessor"))()
        boxes = getattr(processor, name)(outputs=outputs, threshold=0.6, target_sizes=sizes)
    return {f"{key} {number}": tensor for number, image in enumerate(boxes) for key, tensor in image.items()}
