"""The proof: the names are imported from the package, and are what its modules define."""

from importlib import import_module

import torch

from hotfix.names.generation_names_not_exported import FIX, NAMES
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Whether it is the class itself."""
    home = import_module(f"transformers.generation.{NAMES[target.qualname][0]}")
    return {"same": torch.tensor(ask(target) is vars(home)[target.qualname])}
