"""A pixel limit for one processor or one call, and other processors afterwards."""

import torch

from hotfix.processing.qwen2vl_image_size_mutation import FIX, TABLE
from hotfix.proofs.processing._pictures import PACKAGES, SMALL, edges, pixels
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(
    packages=PACKAGES,
    oracles={"*": "5.18.0", **{name: "4.50.2" for name, _ in TABLE if name.endswith(".preprocess")}},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Sizes of a processor before and after another is built, or before and after a call."""
    cls = class_of(target)
    if target.qualname.endswith(".preprocess"):
        processor = cls()
        first = pixels(processor, max_pixels=SMALL["longest_edge"])
        second = pixels(processor)
        return {"size": edges(processor), "first": first["pixel_values"], "second": second["pixel_values"]}
    results = {"before": edges(cls())}
    results["limited"] = edges(cls(min_pixels=SMALL["shortest_edge"], max_pixels=100000))
    results["after"] = edges(cls())
    return results
