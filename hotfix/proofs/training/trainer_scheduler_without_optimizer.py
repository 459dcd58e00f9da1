"""The proof: training with the schedule of a subclass that needs the optimizer."""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_scheduler_without_optimizer import FIX


@FIX.case(raises="TypeError: .*create_scheduler\\(\\) missing 1 required positional argument", packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The loss of a step, and the number of groups that each schedule got."""
    groups: list[int] = []

    def of_5_0(trainer: Any) -> type:
        class Own(trainer):
            def create_scheduler(self, num_training_steps: int, optimizer: Any) -> Any:
                groups.append(len(optimizer.param_groups))
                rate = {"lr_lambda": lambda step: 1.0}
                self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, **rate)
                return self.lr_scheduler

        return Own

    def whole(trainer: Any) -> None:
        if target.qualname.endswith(".create_optimizer_and_scheduler"):
            trainer.create_optimizer_and_scheduler(num_training_steps=1)

    with trained_with(of_5_0):
        results = one_step(small_llama(testbed), texts(testbed), prepare=whole)
    return {"loss": results["loss"], "groups": torch.tensor(sorted(set(groups)))}
