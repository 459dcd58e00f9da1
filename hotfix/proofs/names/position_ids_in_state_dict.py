"""A state dict with the buffers of an earlier release is loaded into a small model around the embeddings."""

from importlib import import_module

import torch

from hotfix.names.position_ids_in_state_dict import FIX
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "intermediate_size": 16,
    "vocab_size": 32,
}


@FIX.case(oracles={"*": "4.30.2"}, raises=r"RuntimeError: Error\(s\) in loading state_dict")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights and the buffers after loading."""
    modeling, name = import_module(target.module), target.qualname.partition(".")[0]
    config = getattr(modeling, f"{name.removesuffix('Embeddings')}Config")(**_SIZES)
    module = torch.nn.Sequential(getattr(modeling, name)(config))
    saved = {key: testbed.randn(*value.shape) for key, value in module.state_dict().items() if key.endswith("weight")}
    saved.update({key: value for key, value in module.state_dict().items() if key not in saved})
    saved["0.position_ids"] = torch.arange(module[0].position_ids.shape[-1])[None]
    module.load_state_dict(saved)
    weights = {key: value for key, value in module.state_dict().items() if key != "0.position_ids"}
    return {**weights, "position_ids": module[0].position_ids.float()}
