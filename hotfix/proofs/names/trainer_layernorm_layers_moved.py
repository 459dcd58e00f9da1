"""The proof: the parameters that decay, as Trainers made from LLaVA's tell them."""

import torch

from hotfix.names.trainer_layernorm_layers_moved import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'ALL_LAYERNORM_LAYERS'", oracles={"*": "4.52.4"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its classes, its owner, and the parameters that it excludes from weight decay."""
    from transformers import pytorch_utils
    from transformers.trainer import get_parameter_names

    layers = ask(target)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2), torch.nn.Embedding(3, 2))
    return {
        "layers": words(" ".join(sorted(layer.__name__ for layer in layers))),
        "same": torch.tensor(layers is pytorch_utils.ALL_LAYERNORM_LAYERS),
        "decay": words(" ".join(get_parameter_names(model, layers))),
    }
