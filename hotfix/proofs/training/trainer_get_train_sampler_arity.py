"""The proof: texts are taken from the last to the first by an override of 4.51."""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_get_train_sampler_arity import FIX


@FIX.case(
    raises="TypeError: .*_get_train_sampler\\(\\) takes 1 positional argument but 2 were given", packages=LATER_PACKAGES
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The loss and the gradients of the last text."""

    def old(trainer: Any) -> type:
        class Old(trainer):
            def _get_train_sampler(self) -> Any:
                return list(range(len(self.train_dataset)))[::-1]

        return Old

    with trained_with(old):
        return one_step(small_llama(testbed), texts(testbed))
