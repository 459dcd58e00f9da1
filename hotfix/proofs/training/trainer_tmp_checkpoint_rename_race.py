"""Two processes over gloo save a checkpoint: on one machine, on two machines with one disk, and with two.

Renaming takes a moment, as on a shared disk, so that the processes meet.
"""

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable
from unittest.mock import patch

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import on_two_ranks
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_tmp_checkpoint_rename_race import FIX


@FIX.case(packages={"accelerate": "0.33.0", "flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """How many of the files that belong into the checkpoint are there, for each machine, and how many are elsewhere."""
    results = {}
    for way, machines, disks in (("one machine", 1, 1), ("two machines, one disk", 2, 1), ("two disks", 2, 2)):
        with tempfile.TemporaryDirectory() as folder:
            work = partial(saved, testbed, folder, machines, disks)
            results.update({f"{way}, {name}": value for name, value in on_two_ranks(work).items()})
    return results


def saved(testbed: Testbed, folder: str, machines: int, disks: int, rank: int) -> dict[str, torch.Tensor]:
    """Train for a step, and save."""
    from transformers import Trainer, TrainingArguments

    if machines == 2:
        os.environ.update(LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    own = Path(folder) / str(rank if disks == 2 else 0)
    arguments = TrainingArguments(
        str(own),
        max_steps=1,
        save_steps=1,
        per_device_train_batch_size=1,
        use_cpu=True,
        ddp_backend="gloo",
        report_to=[],
        disable_tqdm=True,
        save_safetensors=True,
    )
    trainer = Trainer(model=small_llama(testbed), args=arguments, train_dataset=texts(testbed, (1, 1, 1, 1)))
    with patch.object(os, "rename", slowly(os.rename)):
        trainer.train()
    torch.distributed.barrier()
    there = {file.name for file in own.glob("checkpoint-1/*")}
    states = [f"rng_state_{other}.pth" for other in range(2) if disks == 1 or other == rank]
    wanted = {*states, *(("model.safetensors", "optimizer.pt") if rank == 0 else ())}
    return {
        f"rank {rank}: missing": torch.tensor(len(wanted - there)),
        f"rank {rank}: elsewhere": torch.tensor(len([*own.glob("tmp-*/*")])),
    }


def slowly(rename: Callable[..., Any]) -> Callable[..., Any]:
    """A folder is renamed after half a second."""

    def renamed(*names: Any) -> Any:
        time.sleep(0.5)
        return rename(*names)

    return renamed
