"""Shared by the cases of the Trainer: one optimizer step, in all its shapes."""

import os
import socket
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Optional

import torch

from hotfix.proofs.testbed import Testbed

# The matrix runs the Trainer with the Accelerate of the time of transformers 4.46 and 4.47.
PACKAGES: dict[str, Optional[str]] = {"accelerate": "1.1.1", "flash-attn": None}
LATER_PACKAGES: dict[str, Optional[str]] = {"accelerate": "1.15.0", "flash-attn": None}


def both_ways(make_model: Callable[[], Any], samples: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Train on the samples in micro-batches of one, and on all of them as one batch.

    Args:
        make_model: returns the same model at each call.
        samples: what `default_data_collator` takes.

    Returns:
        ``accumulated loss`` as the Trainer reports it and ``accumulated gradient of …`` as the optimizer gets it, and
        the same for ``whole batch``. If the Trainer is right they are equal but for rounding, as long as the loss of
        the batch is the mean of the losses of its samples, or the Trainer counts the labels.
    """
    accumulated = one_step(make_model(), samples, gradient_accumulation_steps=len(samples))
    whole = one_step(make_model(), samples, per_device_train_batch_size=len(samples))
    return {
        **{f"accumulated {name}": value for name, value in accumulated.items()},
        **{f"whole batch {name}": value for name, value in whole.items()},
    }


def compared(make_model: Callable[[], Any], samples: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """As `both_ways`, in numbers that do not depend on what a release calls the parameters.

    Args:
        make_model: returns the same model at each call.
        samples: what `default_data_collator` takes; each has as many labels as the others.

    Returns:
        ``loss`` of the micro-batches as a multiple of that of the batch; ``gradients``: the length of all gradients
        together as such a multiple, and 1 more than the distance of both, as part of that length. So all are 1 where
        the Trainer is right.
    """
    results = [
        one_step(make_model(), samples, prepare=_without_accelerate, **steps)
        for steps in ({"gradient_accumulation_steps": len(samples)}, {"per_device_train_batch_size": len(samples)})
    ]
    losses = [result.pop("loss").double() for result in results]
    micro, whole = (torch.cat([result[name].double().flatten() for name in sorted(result)]) for result in results)
    length = whole.norm()
    return {
        "loss": losses[0] / losses[1],
        "gradients": torch.stack([micro.norm() / length, 1 + (micro - whole).norm() / length]),
    }


def _without_accelerate(trainer: Any) -> None:
    """In 5.2.0 to 5.5.3 Accelerate divides as well (v5-trainer-ga-double-division): here it does not."""
    trainer.accelerator.gradient_accumulation_steps = 1


def one_step(
    model: Any,
    samples: Sequence[dict[str, Any]],
    loss_function: Any = None,
    prepare: Optional[Callable[[Any], None]] = None,
    **arguments: Any,
) -> dict[str, torch.Tensor]:
    """Train for one optimizer step, without clipping, on the CPU.

    Args:
        model: is not changed, since the learning rate is 0.
        samples: the data set.
        loss_function: passed to the Trainer as ``compute_loss_func`` unless it is None.
        prepare: takes the Trainer before it starts.
        **arguments: further `TrainingArguments`; by default the batches have one sample.

    Returns:
        ``loss`` as reported, and ``gradient of NAME`` for each parameter.
    """
    from transformers import Trainer, TrainingArguments

    gradients: dict[str, torch.Tensor] = {}

    def remember(*step: Any) -> None:
        gradients.update(Testbed.gradients(model))

    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    optimizer.register_step_pre_hook(remember)
    with tempfile.TemporaryDirectory() as folder:
        defaults: dict[str, Any] = {"per_device_train_batch_size": 1, "max_steps": 1, "max_grad_norm": 0.0}
        quiet: dict[str, Any] = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        trainer = Trainer(
            model=model,
            args=TrainingArguments(folder, **{**defaults, **quiet, **arguments}),
            train_dataset=list(samples),
            optimizers=(optimizer, None),
            **({} if loss_function is None else {"compute_loss_func": loss_function}),
        )
        if prepare is not None:
            prepare(trainer)
        loss = trainer.train().training_loss
    return {"loss": torch.tensor(loss), **gradients}


def on_two_ranks(work: Callable[[int], dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Run `work` in two forks of this process, the ranks of a job on the CPU, with the same repairs.

    Args:
        work: takes its rank.

    Returns:
        The results of both.

    Raises:
        torch.multiprocessing.ProcessRaisedException: one of them has failed; with its traceback.
    """
    from torch.multiprocessing import start_processes

    import_module("transformers.trainer")  # once for both; the report is that of this process
    with tempfile.TemporaryDirectory() as folder:
        start_processes(_rank, (work, folder, free_port()), nprocs=2, start_method="fork")
        results: dict[str, torch.Tensor] = {}
        for rank in range(2):
            results.update(torch.load(Path(folder) / f"{rank}.pt", weights_only=True))
    return results


def _rank(rank: int, work: Callable[[int], dict[str, torch.Tensor]], folder: str, port: int) -> None:
    torch.set_num_threads(1)  # threads do not survive a fork
    job = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in job.items()}, MASTER_ADDR="127.0.0.1")
    torch.save(work(rank), Path(folder) / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
