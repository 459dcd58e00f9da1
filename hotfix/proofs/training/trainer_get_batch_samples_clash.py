"""The proof: a step with a method that generates texts, as that of TRL 0.11."""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_get_batch_samples_clash import FIX


@FIX.case(
    raises="AttributeError: 'generator' object has no attribute 'generate'"
    "|TypeError: .*get_batch_samples\\(\\) takes 3 positional arguments but 4",
    packages=LATER_PACKAGES,
    with_fixes=("num-items-off-by-one",),
    oracles={"*": "4.45.2"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The loss and the gradients of one text."""

    def old(trainer: Any) -> type:
        class Old(trainer):
            def get_batch_samples(self, model: Any, batch: Any) -> Any:
                return model.generate(batch["input_ids"])

        return Old

    with trained_with(old):
        return one_step(small_llama(testbed), texts(testbed, (1,)))
