"""The case of `generate-fa2-nameerror`."""

import torch

from hotfix.models.generate_fa2_nameerror import FIX
from hotfix.proofs.models._runs import generated
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama generates for a batch, for a padded batch, and from a cache."""
    return generated(testbed)
