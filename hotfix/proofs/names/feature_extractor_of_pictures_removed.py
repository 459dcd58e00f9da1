"""The proof: a processor, whose class checks its parts, gives its image processor by the old name."""

import torch

from hotfix.names.feature_extractor_of_pictures_removed import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(raises="AttributeError: .* object has no attribute 'feature_extractor'", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Whether it is the same object, and whether a class, which had a property, answers for the name."""
    kind = class_of(target)
    processor = kind.__new__(kind)
    processor.image_processor = made = object()
    return {"same": torch.tensor([processor.feature_extractor is made])}
