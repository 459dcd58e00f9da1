"""The proof: steps are logged by overrides of 4.37 and 4.46, which call the library's method."""

from typing import Any

import torch
from packaging.version import Version

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_maybe_log_arity import FIX


@FIX.case(raises="TypeError: .*_maybe_log_save_evaluate\\(\\) .*", oracles={"*": "4.46.3"}, packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The logged losses; in 4.46 both overrides are those of its time."""
    from transformers import __version__

    logged: list[float] = []

    def of_4_37(trainer: Any) -> type:
        class Own(trainer):
            def _maybe_log_save_evaluate(
                self, tr_loss: Any, model: Any, trial: Any, epoch: Any, ignore_keys_for_eval: Any
            ) -> None:
                super()._maybe_log_save_evaluate(tr_loss, model, trial, epoch, ignore_keys_for_eval)
                logged.append(self.state.log_history[-1]["loss"])

        return Own

    def of_4_46(trainer: Any) -> type:
        class Own(trainer):
            def _maybe_log_save_evaluate(
                self, tr_loss: Any, grad_norm: Any, model: Any, trial: Any, epoch: Any, ignore_keys_for_eval: Any
            ) -> None:
                super()._maybe_log_save_evaluate(tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval)
                logged.append(self.state.log_history[-1]["loss"])

        return Own

    for kind in (of_4_37 if Version(__version__) >= Version("4.47") else of_4_46, of_4_46):
        with trained_with(kind):
            one_step(small_llama(testbed), texts(testbed), logging_steps=1)
    return {"losses": torch.tensor(logged)}
