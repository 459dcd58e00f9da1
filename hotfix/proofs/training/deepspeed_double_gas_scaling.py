"""DeepSpeed's own engine, on the CPU."""

import os
import tempfile
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import PACKAGES, free_port
from hotfix.proofs.zoo import classified, small_bert, small_llama, texts
from hotfix.training.deepspeed_double_gas_scaling import FIX


@FIX.case(packages={**PACKAGES, "deepspeed": "0.16.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama and a BERT in four micro-batches of one sample, and in one batch.

    Returns:
        For each, the length of all gradients together as a multiple of that of the batch: 1 if all is right.
    """
    samples = {"decoder": texts(testbed, (1, 1, 1, 1)), "encoder": classified(testbed)}
    makes = {"decoder": small_llama, "encoder": small_bert}
    job = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": free_port()}
    os.environ.update({name: str(value) for name, value in job.items()}, MASTER_ADDR="127.0.0.1", DS_ACCELERATOR="cpu")
    backend: Any = import_module("deepspeed.comm.torch")
    backend.build_shm_op = lambda: None  # it would compile an operator that ranks talk through; there is one rank
    results = {}
    for kind, make in makes.items():
        micro = _length_of_gradients(make(testbed), samples[kind], gradient_accumulation_steps=4)
        whole = _length_of_gradients(make(testbed), samples[kind], per_device_train_batch_size=4)
        results[kind] = micro / whole
    torch.distributed.destroy_process_group()
    return results


def _length_of_gradients(model: Any, samples: Sequence[dict[str, Any]], **steps: int) -> torch.Tensor:
    """The length of all gradients together, measured as a step of plain gradient descent under DeepSpeed."""
    from transformers import Trainer, TrainingArguments

    engine: dict[str, Any] = dict.fromkeys(
        ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"), "auto"
    )
    engine.update(zero_optimization={"stage": 0}, zero_allow_untested_optimizer=True)
    before = [weight.detach().clone() for weight in model.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        defaults: dict[str, Any] = {"per_device_train_batch_size": 1, "max_steps": 1, "max_grad_norm": 0.0}
        descent: dict[str, Any] = {"optim": "sgd", "learning_rate": 1.0, "lr_scheduler_type": "constant"}
        quiet: dict[str, Any] = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        arguments = TrainingArguments(folder, deepspeed=engine, **{**defaults, **descent, **quiet, **steps})
        Trainer(model=model, args=arguments, train_dataset=list(samples)).train()
    moved = [(old - new.detach()).double().flatten() for old, new in zip(before, model.parameters())]
    return torch.cat(moved).norm()
