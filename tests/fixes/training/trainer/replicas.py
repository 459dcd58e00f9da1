"""Cases of the Trainer under DataParallel: a step on two replicas, and on one batch.

A kind is how the loss of a batch comes about; see `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hotfix.proofs.training._data_parallel import replicas_for_devices, two_devices
from hotfix.proofs.training._steps import one_step
from hotfix.proofs.zoo import classified, small_bert, small_llama, texts
from tests.fixes.training.trainer.cases import summed_or_mean


def mamba(testbed):
    """A model that takes the number of labels and ignores it, in all releases of interest."""
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=32, hidden_size=16, state_size=4, num_hidden_layers=1, use_cache=False)
    return testbed.fill(MambaForCausalLM(config))


# The model, how many labels its texts have (None: they have a class), and the Trainer's other arguments.
KINDS: dict[str, tuple[Callable[..., Any], tuple[int, ...] | None, dict[str, Any]]] = {
    "decoder": (small_llama, (7, 4, 2, 1), {}),
    "decoder with a loss function": (small_llama, (7, 4, 2, 1), {"loss_function": summed_or_mean}),
    "decoder with label smoothing": (small_llama, (7, 4, 2, 1), {"label_smoothing_factor": 0.1}),
    "decoder that ignores the number": (mamba, (1, 1, 1, 1), {}),
    "encoder": (small_bert, None, {}),
    "encoder with a loss function": (small_bert, None, {"loss_function": summed_or_mean}),
}


def every_kind(testbed, target):
    """One step on four texts: ``KIND, replicas …`` and ``KIND, one batch …``, as `one_step` names it."""
    kinds = target.qualname.split(", ") if target else KINDS
    return {f"{kind}, {name}": value for kind in kinds for name, value in both_ways(testbed, kind).items()}


def accumulated(testbed, target):
    """The same, with two micro-batches of a text for each replica."""
    kinds = target.qualname.split(", ")
    return {f"{kind}, {name}": value for kind in kinds for name, value in both_ways(testbed, kind, 2).items()}


def both_ways(testbed, kind, micro_batches=1):
    make, firsts, options = KINDS[kind]
    samples = classified(testbed) if firsts is None else texts(testbed, firsts)
    return on_samples(samples, partial(make, testbed), micro_batches=micro_batches, **options)


def on_samples(samples, make, max_steps=1, micro_batches=1, **options):
    step: Callable[..., dict[str, Any]] = partial(one_step, samples=samples, max_steps=max_steps, **options)
    whole = step(make(), per_device_train_batch_size=4)
    rows = {"per_device_train_batch_size": 2 // micro_batches, "gradient_accumulation_steps": micro_batches}
    with replicas_for_devices():
        replicas = step(make(), prepare=two_devices, **rows)
    return {
        **{f"replicas {name}": value for name, value in replicas.items()},
        **{f"one batch {name}": value for name, value in whole.items()},
    }


def last_batch(testbed, target):
    """Two steps on five texts: the second has one, and a replica gets nothing. The gradients are those of the second.

    Returns:
        ``last, replicas …`` and ``last, one batch …``.
    """
    samples = [*texts(testbed), texts(testbed, (3,))[0]]
    return {f"last, {name}": value for name, value in on_samples(samples, partial(small_llama, testbed), 2).items()}
