"""Thirteen texts in batches of two, four batches a step: of the seven batches of an epoch, three make its last step.

Nothing may change where the batches of an epoch fill its steps, and without accumulation.
"""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama
from hotfix.training.trainer_last_accumulation_remainder import FIX


@FIX.case(packages=LATER_PACKAGES, with_fixes=("trainer-ga-num-items-dropped", "trainer-ddp-no-sync-inverted"))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two epochs of each: the micro-batches and steps that were made, and the gradients of the last step."""
    ways = {"a rest": (13, 4), "one sample a batch": (7, 4), "none left": (8, 4), "no accumulation": (5, 1)}
    results = {}
    for way, (samples, steps) in ways.items():
        made = two_epochs(testbed, samples, 1 if way == "one sample a batch" else 2, steps)
        results.update({f"{way}: {name}": value for name, value in made.items()})
    return results


def two_epochs(testbed: Testbed, samples: int, batch: int, steps: int) -> dict[str, torch.Tensor]:
    """Train for two epochs, without changing the weights.

    Args:
        testbed: where it runs.
        samples: how many the data set has.
        batch: how many a micro-batch has.
        steps: how many micro-batches make a step.
    """
    trainers: list[Any] = []
    model = small_llama(testbed)
    seen: list[int] = []
    model.register_forward_pre_hook(lambda *call: seen.append(1))
    labels = testbed.randint(0, 32, samples, 9, seed=3).cpu()
    values = one_step(
        model,
        [{"input_ids": row, "labels": torch.cat([row.new_full((1,), -100), row[1:]])} for row in labels],
        prepare=trainers.append,
        max_steps=-1,
        num_train_epochs=2,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=steps,
    )
    return {
        **values,
        "micro-batches": torch.tensor(len(seen)),
        "steps": torch.tensor(trainers[0].state.global_step),
        "epochs": torch.tensor(trainers[0].state.epoch),
    }
