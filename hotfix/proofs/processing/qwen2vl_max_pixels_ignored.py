"""A pixel limit for one call, or at loading."""

import torch

from hotfix.processing.qwen2vl_max_pixels_ignored import FIX, TABLE
from hotfix.proofs.processing._pictures import PACKAGES, SMALL, pixels
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(packages=PACKAGES, oracles={"*": "5.18.0", TABLE[0][0]: "4.51.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Sizes in a call with a limit, or after loading with one; for Qwen2-VL also results for a picture."""
    cls = class_of(target)
    limit = SMALL["longest_edge"]
    if target.qualname.endswith(".preprocess"):
        loaded = cls.from_dict({"min_pixels": 3136, "max_pixels": 1003520}, max_pixels=limit)
        ways = {"loaded": pixels(loaded), "called": pixels(cls(), max_pixels=limit)}
        return {f"{way}: {name}": value for way, values in ways.items() for name, value in values.items()}
    processor = cls()
    results = {}
    for name, arguments in {"largest": {"max_pixels": limit}, "smallest": {"min_pixels": 12544}}.items():
        # The first is the name since 5.4.0.
        settled = getattr(processor, "_standardize_kwargs", None) or processor._further_process_kwargs
        size = settled(size=processor.size, resample=3, **arguments)["size"]
        results[name] = torch.tensor([size["shortest_edge"], size["longest_edge"]])
    if "image_processing" in target.module and "qwen2_vl" in target.module:
        results.update(pixels(processor, max_pixels=limit))
    return results
