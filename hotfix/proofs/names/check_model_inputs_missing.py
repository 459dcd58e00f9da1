"""The proof: remote code decorates a forward."""

from __future__ import annotations

from typing import Any

import torch

from hotfix.names.check_model_inputs_missing import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Decorate a forward, and call it with and without what the configuration has."""
    from transformers import LlamaConfig, PreTrainedModel

    check_model_inputs: Any = ask(target)

    class Remote(PreTrainedModel):
        config_class = LlamaConfig

        @check_model_inputs  # type: ignore[untyped-decorator,unused-ignore]
        def forward(self, hidden: torch.Tensor, use_cache: bool | None = None, **kwargs: Any) -> torch.Tensor:
            return hidden * (2 if use_cache else 3)

    config = LlamaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=8, use_cache=True)
    model = Remote(config)
    hidden = testbed.randn(2, 5, 16)
    return {
        "by default": model(hidden),
        "switched off": model(hidden, use_cache=False),
        "switched on": model(hidden, use_cache=True),
        "pickled": same_when_pickled(check_model_inputs),
    }
