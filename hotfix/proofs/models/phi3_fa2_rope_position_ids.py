"""The case of `phi3-fa2-rope-position-ids`."""

import torch

from hotfix.models.phi3_fa2_rope_position_ids import FIX
from hotfix.proofs.models._runs import padded_step
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import windowed


@FIX.case(raises="missing 1 required positional argument: 'position_ids'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A small Phi-3 sees two samples, one of them padded, with labels."""
    return padded_step(testbed, windowed(testbed, "phi3"))
