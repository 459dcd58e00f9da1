"""The case of `v5-fa2-s-aux-none`."""

import torch

from hotfix.models.v5_fa2_s_aux_none import FIX
from hotfix.proofs.models._runs import padded_step
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="AttributeError: 'NoneType' object has no attribute 'to'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama sees two samples, one of them padded, with labels."""
    return padded_step(testbed, llama(testbed))
