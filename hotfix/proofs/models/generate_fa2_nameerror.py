"""The case of `generate-fa2-nameerror`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.models.generate_fa2_nameerror import FIX
from hotfix.proofs.models._runs import generated

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama generates for a batch, for a padded batch, and from a cache."""
    return generated(testbed)
