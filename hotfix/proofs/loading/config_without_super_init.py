"""A model in the manner of BiRefNet is tied, and its text configuration asked for."""

from typing import Any

import torch

from hotfix.loading.config_without_super_init import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: 'Own' object has no attribute 'is_encoder_decoder'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The size of the text configuration, and the result of the model after tying."""
    from transformers import PretrainedConfig, PreTrainedModel

    class Own(PretrainedConfig):
        def __init__(self) -> None:
            self.size = 3

    class Model(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.config = Own()
            self.layer = torch.nn.Linear(self.config.size, 2)
            self.all_tied_weights_keys: dict[str, str] = {}  # 5.x sets it in `post_init`

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return self.layer(values)

    model = testbed.fill(Model(PretrainedConfig())).eval()
    size = model.config.get_text_config(decoder=True).size
    model.tie_weights()
    return {"size": torch.tensor(size), "result": model(testbed.randn(2, 3, seed=1))}
