"""The proof: a framework imports each name, as XTTS does."""

import torch

from hotfix.names.search_outputs_missing import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The classes that the annotation names."""
    from typing import get_args

    kinds = get_args(ask(target))
    return {"kinds": words(*(kind.__name__ for kind in kinds))}
