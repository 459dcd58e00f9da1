"""An image processor that is asked not to pad."""

import torch

from hotfix.processing.llava_next_without_padding import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of, picture


@FIX.case(raises="UnboundLocalError: .*processed_images", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The patches of two pictures, whose numbers differ."""
    sides = {"size": {"shortest_edge": 28}, "image_grid_pinpoints": [[28, 56], [56, 56]]}
    if "onevision" in target.module:
        sides["size"] = {"height": 28, "width": 28}
    else:
        sides["crop_size"] = {"height": 28, "width": 28}
    processor = class_of(target)(**sides)
    results = {}
    for number, (height, width) in enumerate(((30, 60), (60, 60))):
        made = processor([picture(height, width)], do_pad=False)
        results[f"{number}: patches"] = torch.tensor(made["pixel_values"][0])
        results[f"{number}: size"] = torch.tensor(made["image_sizes"][0])
    return results
