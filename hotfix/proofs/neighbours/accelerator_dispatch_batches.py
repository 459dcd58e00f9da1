"""The proof: a step of training with accelerate 1.1.1, as it comes and with a user's settings."""

from typing import Any

import torch

from hotfix.neighbours.accelerator_dispatch_batches import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts


@FIX.case(raises="TypeError: .*unexpected keyword argument '(dispatch|split|even)_batches'", packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of the step, and the options of the data loaders that Accelerate received."""
    results = {}
    for way, options in (("as it comes", {}), ("split", {"split_batches": True})):
        trainers: list[Any] = []
        step = one_step(
            small_llama(testbed),
            texts(testbed, (1, 1, 1, 1)),
            prepare=trainers.append,
            per_device_train_batch_size=4,
            **settings(options),
        )
        accelerator = trainers[0].accelerator
        results.update({f"{way}: {name}": value for name, value in step.items()})
        results[f"{way}: settings"] = torch.tensor([accelerator.split_batches, bool(accelerator.dispatch_batches)])
    return results


def settings(options: dict[str, Any]) -> dict[str, Any]:
    """The options of the data loaders that `TrainingArguments` of this release take."""
    from inspect import signature

    from transformers import TrainingArguments

    return (
        {"accelerator_config": options} if "accelerator_config" in signature(TrainingArguments).parameters else options
    )
