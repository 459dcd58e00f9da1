"""The proof: values of a step of evaluation, of which some are no tensors."""

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.training.detached_values_of_other_types import FIX


@FIX.case(raises="AttributeError: 'str' object has no attribute 'detach'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tensors are detached, and texts stay."""
    from transformers.trainer_pt_utils import nested_detach

    logits = testbed.randn(2, 3, seed=1).requires_grad_()
    made = nested_detach({"logits": (logits, logits + 1), "labels": ["first", "second"]})
    return {
        "logits": made["logits"][0],
        "more": made["logits"][1],
        "needs gradients": torch.tensor([each.requires_grad for each in made["logits"]]),
        "labels": torch.tensor(list(" ".join(made["labels"]).encode())),
    }
