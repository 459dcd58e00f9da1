"""The proof: a file imports the configuration's class from where the models' class is, and inherits from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.names_elsewhere import FIX
from hotfix.proofs.names.asking import ask

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """That it is the class itself."""
    import torch
    from transformers import PretrainedConfig

    restored = ask(target)
    return {"same": torch.tensor(restored is PretrainedConfig), "heir": torch.tensor(restored(top_k=3).to_dict() != {})}
