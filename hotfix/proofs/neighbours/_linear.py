"""A model of one layer, and samples for it, for proofs of what the Trainer does with any model."""

from typing import Any

import torch

from hotfix.proofs.testbed import Testbed


class Model(torch.nn.Module):
    """A linear layer from four numbers to one, and its squared error."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: Any, labels: Any = None) -> Any:
        out = self.layer(x)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}


def samples(testbed: Testbed) -> list[dict[str, torch.Tensor]]:
    """Four samples with a label each."""
    return [{"x": testbed.randn(4, seed=seed).cpu(), "labels": torch.ones(1)} for seed in range(4)]
