"""Custom models in the manner of GPT-2 and with a bias of later are saved and loaded, and rebuilt."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.v5_custom_child_weights_initialised_again import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "4.57.6"})
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
        saved = {name: weight for name, weight in load_file(file).items() if name != "head.bias"}
        save_file(saved, file, metadata={"format": "pt"})
        results.update(_weights("loaded without a bias", cls.from_pretrained(folder)))
    results.update(_weights("built", cls(cls.config_class())))
    with TemporaryDirectory() as folder:
        small_llama(testbed).save_pretrained(folder)
        results.update(_weights("Llama", LlamaForCausalLM.from_pretrained(folder)))
    return results


def _weights(kind: str, model: Any) -> dict[str, torch.Tensor]:
    return {f"{kind}, {name}": weight.detach().clone().float() for name, weight in model.state_dict().items()}


def _custom() -> Any:
    """A model as Qwen-7B is: its attention has a buffer left to it, and initializes the projection that is in it."""
    from transformers import PretrainedConfig, PreTrainedModel

    class Configuration(PretrainedConfig):
        model_type = "hotfix-custom"

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("masked_bias", torch.tensor(-1e4), persistent=False)
            self.c_attn = torch.nn.Linear(16, 48)
            self.c_proj = torch.nn.Linear(16, 16, bias=False)
            self.gate = torch.nn.Linear(16, 16, bias=False)

    class Model(PreTrainedModel):
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.embed = torch.nn.Embedding(32, 16)
            self.attn = Attention()
            self.head = torch.nn.Linear(16, 32)
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                module.weight.data.fill_(0.02)
                if module.bias is not None:
                    module.bias.data.zero_()
            elif isinstance(module, torch.nn.Embedding):
                module.weight.data.fill_(0.03)
            for name, parameter in module.named_parameters():
                if name == "c_proj.weight":
                    parameter.data.copy_(torch.full_like(parameter, 0.5))
                elif name == "gate.weight":
                    parameter.data = torch.full_like(parameter, 0.25)

    return Model
