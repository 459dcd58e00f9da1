"""The proof: a module of a package is executed, with a guard as TRL has it."""

import pickle
from typing import Any

import torch

from hotfix.neighbours.v5_guard_of_missing_package import FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

GUARDED = """
from transformers.utils.import_utils import _is_package_available
_mergekit_available = _is_package_available("mergekit_of_nobody")
def is_mergekit_available():
    return _mergekit_available
mergekit = None
if is_mergekit_available():
    from mergekit_of_nobody.config import MergeConfiguration
    mergekit = "imported"
if _is_package_available("torch"):
    import torch
"""


@FIX.case(raises="ModuleNotFoundError: No module named 'mergekit_of_nobody'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The names of the module, and the pair of a missing package."""
    names = remote(GUARDED)
    return {"names": words(*sorted(name for name in names if not name.startswith("__"))), **_facts(names["torch"])}


def _facts(torch_of_module: Any) -> dict[str, torch.Tensor]:
    from transformers.utils.import_utils import _is_package_available

    exists, version = _is_package_available("mergekit_of_nobody", return_version=True)
    pair: Any = _is_package_available("mergekit_of_nobody")
    first = pair[0] if isinstance(pair, tuple) else pair  # 4.57.6 returns the truth alone
    again: Any = pickle.loads(pickle.dumps(pair))
    return {
        "imported": torch.tensor(torch_of_module is torch),
        "exists": torch.tensor([exists, first, again == pair]),
        "version": words(version),
    }
