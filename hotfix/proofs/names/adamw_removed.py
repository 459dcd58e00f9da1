"""The proof: a few steps, with and without decay and correction."""

from typing import Any

import torch

from hotfix.names.adamw_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"lr": 2e-2, "weight_decay": 0.1, "eps": 1e-8},
    {"lr": 1e-2, "correct_bias": False, "betas": (0.8, 0.99), "no_deprecation_warning": True},
)


@FIX.case(raises="ImportError: cannot import name 'AdamW'", tolerance={"float32": 0.0})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Take four steps with each setting; the third is taken by an optimizer that got the state of another."""
    cls = ask(target)
    results = {"pickled": same_when_pickled(cls)}
    for number, setting in enumerate(SETTINGS):
        weights = [torch.nn.Parameter(testbed.randn(5, 3, seed=1)), torch.nn.Parameter(testbed.randn(3, seed=2))]
        optimizer = cls([{"params": weights[:1]}, {"params": weights[1:], "lr": 3e-3}], **setting)
        for step in range(4):
            if step == 2:
                state = optimizer.state_dict()
                optimizer = cls([{"params": weights[:1]}, {"params": weights[1:]}])
                optimizer.load_state_dict(state)
            for weight in weights:
                weight.grad = testbed.randn(*weight.shape, seed=10 + step)
            optimizer.step()
        state = optimizer.state_dict()
        results.update({f"{number} weight {place}": weight.detach() for place, weight in enumerate(weights)})
        results[f"{number} second moment"] = state["state"][0]["exp_avg_sq"]
        results[f"{number} steps"] = torch.tensor(state["state"][0]["step"])
        results[f"{number} decay"] = torch.tensor(state["param_groups"][0]["weight_decay"])
    return results
