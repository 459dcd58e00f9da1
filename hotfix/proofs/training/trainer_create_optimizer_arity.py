"""The proof: an override of 5.2 makes the optimizer after the model was prepared, as under FSDP."""

from types import SimpleNamespace
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_create_optimizer_arity import FIX


@FIX.case(raises="TypeError: .*create_optimizer\\(\\) takes 1 positional argument but 2", packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The loss of a step, and whether the override saw what Accelerate had prepared: here, an own wrapper."""
    seen: list[bool] = []

    def of_5_2(trainer: Any) -> type:
        class Own(trainer):
            def create_optimizer(self) -> Any:
                seen.append(getattr(self.model, "prepared", False))
                return self.optimizer

        return Own

    def delayed(trainer: Any) -> None:
        prepare = trainer.accelerator.prepare

        def marked(*objects: Any) -> Any:
            for each in objects:
                each.prepared = True
            return prepare(*objects)

        trainer.is_fsdp_enabled, trainer.accelerator.prepare = True, marked
        trainer.accelerator.state.fsdp_plugin = SimpleNamespace(fsdp_version=1)

    with trained_with(of_5_2):
        results = one_step(small_llama(testbed), texts(testbed), prepare=delayed)
    return {"loss": results["loss"], "seen": torch.tensor(seen)}
