"""The proof: a step is logged by an override of 4.46."""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_log_arity import FIX


@FIX.case(raises="TypeError: .*log\\(\\) takes 2 positional arguments but 3 were given", packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The logged values; another override gets the time if the release has it."""
    logged: list[dict[str, float]] = []

    def old(trainer: Any) -> type:
        class Old(trainer):
            def log(self, logs: dict[str, float]) -> None:
                logged.append(dict(logs))

        return Old

    with trained_with(old):
        one_step(small_llama(testbed), texts(testbed), logging_steps=1)
    return {"loss": torch.tensor(logged[0]["loss"]), "times": torch.tensor(len(logged))}
