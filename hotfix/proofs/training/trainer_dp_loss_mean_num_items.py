"""Two replicas with two texts each, and one with all four."""

from functools import partial
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._data_parallel import replicas_for_devices, two_devices
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_dp_loss_mean_num_items import FIX


@FIX.case(packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama under DataParallel.

    Returns:
        ``WHOSE, one batch …`` and ``WHOSE, replicas …``, as `_steps.one_step` names it. WHOSE is ``Trainer``, on texts
        with equally many labels, since releases that keep the number back take the mean of the replicas' means; and
        ``own``, a user's ``training_step`` that passes the number on in all releases, on 2, 5, 7 and 8 labels.
    """

    def own_step(trainer: Any) -> None:
        two_devices(trainer)
        trainer.training_step = partial(_handing_on, trainer)

    results = {}
    for whose, firsts, prepare in (("Trainer", (1, 1, 1, 1), two_devices), ("own", (7, 4, 2, 1), own_step)):
        samples = texts(testbed, firsts)
        whole = one_step(small_llama(testbed), samples, per_device_train_batch_size=4)
        with replicas_for_devices():
            two = one_step(small_llama(testbed), samples, prepare=prepare, per_device_train_batch_size=2)
        results.update({f"{whose}, one batch {name}": value for name, value in whole.items()})
        results.update({f"{whose}, replicas {name}": value for name, value in two.items()})
    return results


def _handing_on(trainer: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
    """A ``training_step`` that passes the number on."""
    loss = trainer.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch).mean()
    loss.backward()
    return loss.detach()
