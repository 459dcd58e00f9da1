"""A custom model is saved and loaded: whole, without its head, and rebuilt."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.v5_custom_weights_initialised_again import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case()
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """All weights, of the custom model and of one of the library."""
    from safetensors.torch import load_file, save_file
    from transformers import LlamaForCausalLM

    results = {}
    cls = _custom()
    with TemporaryDirectory() as folder:
        testbed.fill(cls(cls.config_class())).save_pretrained(folder)
        results.update(_weights("loaded", cls.from_pretrained(folder)))
        file = f"{folder}/model.safetensors"
        saved = {name: weight for name, weight in load_file(file).items() if not name.startswith("head")}
        save_file(saved, file, metadata={"format": "pt"})
        results.update(_weights("loaded without a head", cls.from_pretrained(folder)))
    results.update(_weights("built", cls(cls.config_class())))
    with TemporaryDirectory() as folder:
        small_llama(testbed).save_pretrained(folder)
        results.update(_weights("Llama", LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)))
    return results


def _weights(kind: str, model: Any) -> dict[str, torch.Tensor]:
    return {f"{kind}, {name}": weight.detach().clone() for name, weight in model.state_dict().items()}


def _custom() -> Any:
    """A model as a project of 4.x has it: its ``_init_weights`` writes into the data of tensors."""
    from transformers import PretrainedConfig, PreTrainedModel

    class Configuration(PretrainedConfig):
        model_type = "hotfix-custom"

    class Gate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.share = torch.nn.Parameter(torch.zeros(4))

    class Model(PreTrainedModel):
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.embed = torch.nn.Embedding(32, 16)
            self.norm = torch.nn.LayerNorm(16)
            self.gate = Gate()
            self.head = torch.nn.Linear(16, 32)
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                module.weight.data.fill_(0.02)
                module.bias.data.zero_()
            elif isinstance(module, torch.nn.Embedding):
                module.weight.data.fill_(0.03)
            elif isinstance(module, Gate):
                module.share.data.fill_(0.5)

    return Model
