"""A model in the manner of BiRefNet, whose configuration is a class of its own, is read from a checkpoint."""

import tempfile
from typing import Any

import torch

from hotfix.loading.config_without_model_type import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: 'Own' object has no attribute 'model_type'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The result of the model as it was made, and as it was read."""
    made, read = saved_and_read(testbed, with_own_config=True)
    values = testbed.randn(2, 3, seed=1)
    return {"made": made(values), "read": read(values), "difference": made(values) - read(values)}


def saved_and_read(testbed: Testbed, with_own_config: bool) -> tuple[Any, Any]:
    """A model, and the same model from a checkpoint.

    Args:
        testbed: fills the weights.
        with_own_config: whether the model's ``config`` is an object of a class of its own.
    """
    from safetensors.torch import save_file
    from transformers import PretrainedConfig, PreTrainedModel

    class Own:
        def __init__(self) -> None:
            self.size = 3
            self.tie_word_embeddings = False

        def get_text_config(self, *args: Any, **kwargs: Any) -> Any:
            return self

    class Model(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            if with_own_config:
                self.config = Own()
            self.layer = torch.nn.Linear(3, 2)
            self.all_tied_weights_keys: dict[str, str] = {}  # 5.x sets it in `post_init`

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return self.layer(values)

    model = testbed.fill(Model(PretrainedConfig())).eval()
    with tempfile.TemporaryDirectory() as folder:
        PretrainedConfig().save_pretrained(folder)
        save_file(dict(model.state_dict()), f"{folder}/model.safetensors", {"format": "pt"})
        read = Model.from_pretrained(folder).eval()
    return model, read
