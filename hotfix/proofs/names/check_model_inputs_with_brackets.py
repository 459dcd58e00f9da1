"""The proof: a model of the program's decorates its forward, with brackets."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import torch

from hotfix.names.check_model_inputs_with_brackets import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: check_model_inputs\\(\\) missing 1 required", oracles={"*": "5.1.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Call it with and without what the configuration has, and with hidden states."""
    from transformers import LlamaConfig, PreTrainedModel
    from transformers.modeling_outputs import BaseModelOutput

    check_model_inputs: Any = getattr(import_module(target.module), target.qualname)

    class Layer(torch.nn.Module):
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return hidden + 1

    class Own(PreTrainedModel):
        config_class = LlamaConfig
        _can_record_outputs: ClassVar[dict[str, Any]] = {"hidden_states": Layer}

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.layers = torch.nn.ModuleList(Layer() for _ in range(2))
            self.post_init()

        @check_model_inputs()  # type: ignore[untyped-decorator,unused-ignore]
        def forward(self, hidden: torch.Tensor, use_cache: bool | None = None, **kwargs: Any) -> BaseModelOutput:
            for layer in self.layers:
                hidden = layer(hidden)
            return BaseModelOutput(last_hidden_state=hidden * (2 if use_cache else 3))

    config = LlamaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=8, use_cache=True)
    model = Own(config)
    hidden = testbed.randn(2, 5, 16)
    collected = model(hidden, output_hidden_states=True)
    return {
        "by default": model(hidden).last_hidden_state,
        "switched off": model(hidden, use_cache=False).last_hidden_state,
        "collected": torch.stack(collected.hidden_states),
    }
