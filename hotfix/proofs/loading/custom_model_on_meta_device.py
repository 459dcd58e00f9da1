"""A custom model whose constructor moves a layer, reads values, and loads another model."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.custom_model_on_meta_device import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    oracles={"*": "4.50.3"},
    packages={"accelerate": "1.15.0"},
    raises="NotImplementedError: Cannot copy out of meta tensor",
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits and buffers after loading; the file lacks the weights that the constructor loads."""
    from transformers import BertConfig, BertModel

    ids = testbed.randint(0, 32, 2, 9)
    # An uninitialized tensor is likely to get the memory that is freed here.
    torch.full((4096,), float("nan")).sum()
    with TemporaryDirectory() as inner, TemporaryDirectory() as folder:
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        testbed.fill(BertModel(BertConfig(vocab_size=32, **sizes))).save_pretrained(inner)
        cls = _custom()
        made = cls(cls.config_class(encoder=inner))
        testbed.fill(made.head)
        made.save_pretrained(
            folder, state_dict={f"head.{name}": value for name, value in made.head.state_dict().items()}
        )
        loaded = cls.from_pretrained(folder).to(testbed.device).eval()
        return {"logits": loaded(ids), "scales": torch.tensor(loaded.scales), "position": loaded.position}


def _custom() -> Any:
    from transformers import BertModel, PretrainedConfig, PreTrainedModel

    class Configuration(PretrainedConfig):
        model_type = "hotfix-custom"

        def __init__(self, encoder: str = "", **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.encoder = encoder

    class Model(PreTrainedModel):
        config_class = Configuration

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.head = torch.nn.Linear(16, 32)
            self.head.to("cpu")
            self.scales = torch.arange(1, 4).tolist()
            self.register_buffer("position", torch.ones(9).cumsum(0), persistent=False)
            self.encoder = BertModel.from_pretrained(config.encoder)
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight, std=0.02)

        def forward(self, input_ids: torch.Tensor) -> Any:
            return self.head(self.encoder(input_ids).last_hidden_state * self.position[:, None])

    return Model
