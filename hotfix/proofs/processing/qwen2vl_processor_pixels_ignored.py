"""A pixel limit for one call of a processor, and the next call without."""

import torch

from hotfix.processing.qwen2vl_processor_pixels_ignored import FIX
from hotfix.proofs.processing._pictures import PACKAGES, SMALL, pixels, tokens
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of, qwen_processor


@FIX.case(packages=PACKAGES, oracles={"*": "4.50.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens and patches of a picture in a call with a limit, and in the next call without."""
    from transformers import Qwen2VLImageProcessor

    cls = class_of(target)
    limit = SMALL["longest_edge"]
    if target.qualname.endswith(".preprocess"):
        processor = cls()
        calls = {"limited": pixels(processor, max_pixels=limit), "then": pixels(processor)}
    else:
        processor = qwen_processor(cls, Qwen2VLImageProcessor())
        calls = {"limited": tokens(processor, max_pixels=limit), "then": tokens(processor)}
    return {f"{call}: {name}": value for call, values in calls.items() for name, value in values.items()}
