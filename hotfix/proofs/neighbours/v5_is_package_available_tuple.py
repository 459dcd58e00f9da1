"""The proof: a guard as other libraries have it, for a package that is here and one that nobody has."""

import torch

from hotfix.neighbours.v5_is_package_available_tuple import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask as a guard does, and with the version."""
    from transformers.utils.import_utils import _is_package_available

    results = {}
    for name in ("torch", "nobody_has_such_a_package"):
        results[f"{name} guard"] = torch.tensor(bool(_is_package_available(name)))
        exists, _ = _is_package_available(name, return_version=True)
        results[f"{name} exists"] = torch.tensor(exists)
    return results
