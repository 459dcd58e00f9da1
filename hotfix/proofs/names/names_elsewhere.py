"""The proof: a file imports the configuration's class from where the models' class is, and inherits from it."""

import torch

from hotfix.names.names_elsewhere import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """That it is the class itself."""
    from transformers import PretrainedConfig

    restored = ask(target)
    return {"same": torch.tensor(restored is PretrainedConfig), "heir": torch.tensor(restored(top_k=3).to_dict() != {})}
