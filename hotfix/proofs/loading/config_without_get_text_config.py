"""The proof: a model in the manner of BiRefNet, whose configuration is an object of a plain class."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.config_without_get_text_config import FIX
from hotfix.proofs.testbed import Target, Testbed

_MODEL = "transformers.modeling_utils:PreTrainedModel"


@FIX.case(
    raises="AttributeError: '?Plain'? object has no attribute 'get_text_config'",
    packages={"flash-attn": None},
    oracles={
        "*": "4.48.3",
        f"{_MODEL}._init_weights": "",  # the case compares with a configuration of the library
        f"{_MODEL}.resize_token_embeddings": "4.44.2",
        f"{_MODEL}._resize_token_embeddings": "4.44.2",
    },
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A file that lacks a layer is loaded; tables and layers are resized and initialized."""
    name = target.qualname.rpartition(".")[2]
    cls = _custom()
    if name == "_init_weights":
        plain, own = _layer(cls(cls.config_class())), _layer(cls(cls.config_class(plain=False)))
        return {"weights": torch.stack([plain.norm() / own.norm(), (plain - own).norm()])}
    model = testbed.fill(cls(cls.config_class()))
    if "resize" in name:
        rows = model.table.weight.detach().clone()
        model.resize_token_embeddings(9)
        return {"table": model.table.weight.detach()[:6] - rows, "size": torch.tensor(model.config.vocab_size)}

    def initialise(self: Any, module: Any) -> None:
        if getattr(module, "bias", None) is not None:
            module.bias.data.zero_()

    cls._init_weights = initialise
    with TemporaryDirectory() as folder:
        cls.config_class().save_pretrained(folder)
        _without_bias(model, folder)
        loaded = cls.from_pretrained(folder).eval()
    loaded.tie_weights()
    return {"logits": loaded(testbed.randint(0, 6, 1, 4))}


def _without_bias(model: Any, folder: str) -> None:
    from safetensors.torch import save_file

    state = {name: value.clone() for name, value in model.state_dict().items() if name != "head.bias"}
    save_file(state, f"{folder}/model.safetensors", {"format": "pt"})


def _layer(model: Any) -> torch.Tensor:
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 6)
    model._init_weights(layer)
    return layer.weight.detach()


def _custom() -> Any:
    from transformers import PretrainedConfig, PreTrainedModel

    class Configuration(PretrainedConfig):
        model_type = "hotfix-custom"

        def __init__(self, plain: bool = True, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.plain = plain

    class Plain:
        tie_word_embeddings = False
        vocab_size = 6

    class Model(PreTrainedModel):
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            if config.plain:
                self.config = Plain()
            self.table = torch.nn.Embedding(6, 5)
            self.head = torch.nn.Linear(5, 6)

        def get_input_embeddings(self) -> Any:
            return self.table

        def set_input_embeddings(self, value: Any) -> None:
            self.table = value

        def get_output_embeddings(self) -> Any:
            return self.head

        def set_output_embeddings(self, value: Any) -> None:
            self.head = value

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.table(input_ids))

    return Model
