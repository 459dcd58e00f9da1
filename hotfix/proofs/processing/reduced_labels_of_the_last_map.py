"""Reduced labels of one image, and of three."""

import torch

from hotfix.processing.reduced_labels_of_the_last_map import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Labels of a batch, whose maps are numbers from 0 on, and of each image alone."""
    processor = class_of(target)(do_reduce_labels=True, do_resize=False, do_center_crop=False)
    images = [torch.full((3, 4, 4), 40 * number, dtype=torch.uint8) for number in range(3)]
    maps = [torch.arange(number, number + 16, dtype=torch.uint8).reshape(4, 4) for number in range(3)]
    results = {"batch": processor(images, segmentation_maps=maps, return_tensors="pt")["labels"]}
    for number, (image, labels) in enumerate(zip(images, maps)):
        results[f"alone {number}"] = processor([image], segmentation_maps=[labels], return_tensors="pt")["labels"]
    return results
