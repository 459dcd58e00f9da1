"""An image processor with a size, and its results for a picture."""

import torch

from hotfix.processing.qwen2vl_image_processor_size_discarded import FIX
from hotfix.proofs.processing._pictures import PACKAGES, SMALL, edges, pixels
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Sizes of a processor with and without the argument, and their results for a picture.

    The fast processor of GLM-4V cannot process anything in these releases.
    """
    cls = class_of(target)
    results = {}
    for name, processor in {"small": cls(size=dict(SMALL)), "default": cls()}.items():
        results[f"{name}: size"] = edges(processor)
        if "glm4v_fast" not in target.module:
            results.update({f"{name}: {key}": value for key, value in pixels(processor).items()})
    return results
