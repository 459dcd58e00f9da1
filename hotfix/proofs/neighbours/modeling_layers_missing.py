"""The proof: a layer that inherits from the class, trained with checkpoints and without."""

from typing import Any

import torch

from hotfix.neighbours.modeling_layers_missing import FIX
from hotfix.proofs.names.asking import same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ModuleNotFoundError: No module named 'transformers.modeling_layers'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import it as peft does; count how often the layer is computed."""
    from functools import partial

    from torch.utils.checkpoint import checkpoint
    from transformers.modeling_layers import GradientCheckpointingLayer

    class Layer(GradientCheckpointingLayer):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.calls = 0

        def forward(self, hidden: Any, factor: float = 1.0) -> Any:
            self.calls += 1
            return torch.tanh(self.linear(hidden)) * factor

    results = {}
    for name in ("plain", "checkpointed", "evaluated"):
        layer = testbed.fill(Layer()).to(testbed.device).train(name != "evaluated")
        if name != "plain":
            layer.gradient_checkpointing = True
            layer._gradient_checkpointing_func = partial(checkpoint, use_reentrant=False)
        out = layer(testbed.randn(2, 4).requires_grad_(), factor=2.0)
        out.sum().backward()
        results[f"{name} output"] = out
        results[f"{name} gradient"] = layer.linear.weight.grad
        results[f"{name} calls"] = torch.tensor(layer.calls)
    return {
        **results,
        "pickled": same_when_pickled(GradientCheckpointingLayer),
        "called": words(GradientCheckpointingLayer.__module__),
    }
