"""The proof: a model with a layer that initializes itself, and with a model inside of it."""

from typing import Any

import torch

from hotfix.loading.submodule_with_init_weights import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: '?Resampler'? object has no attribute '_initialize_weights'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights of a new model, before another one and after it."""
    from transformers import BertConfig, BertModel, PretrainedConfig, PreTrainedModel

    class Resampler(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = torch.nn.Linear(3, 3)
            self.norm = torch.nn.LayerNorm(3)
            self._init_weights(self.query)

        def _init_weights(self, module: Any) -> None:
            torch.nn.init.constant_(module.weight, 7.0)

    class Model(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.resampler = Resampler()
            self.inner = BertModel(
                BertConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
            )
            self.layers = torch.nn.Sequential(torch.nn.Linear(3, 3), Resampler())
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight, std=0.5)

    results = {}
    for number in range(2):
        torch.manual_seed(number)
        state = Model(PretrainedConfig()).state_dict()
        results.update({f"{number} {name}": value for name, value in state.items() if "position_ids" not in name})
    return results
