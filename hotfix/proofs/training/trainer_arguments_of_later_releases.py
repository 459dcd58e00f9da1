"""The proof: overrides of later releases call the Trainer's methods with all their arguments."""

import tempfile
from inspect import signature
from typing import Any
from unittest import mock

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_arguments_of_later_releases import FIX

_LAST = {"compute_loss": "4.46.3", "training_step": "4.46.3", "log": "4.47.1", "_get_train_sampler": "4.52.4"}


@FIX.case(
    raises="TypeError: .*(unexpected keyword argument|positional arguments? but)",
    packages={"flash-attn": None, "accelerate": "1.10.1"},
    oracles={"*": "5.3.0", **{f"transformers.trainer:Trainer.{name}": release for name, release in _LAST.items()}},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the method gives with the argument by its name and by its place."""
    name = target.qualname.partition(".")[2]
    return {way: _given(testbed, name, way) for way in ("by name", "by place")}


def _given(testbed: Testbed, name: str, way: str) -> torch.Tensor:
    trainer = _trainer(testbed)
    call = getattr(trainer, name)
    is_named = way == "by name"
    batch = {"input_ids": testbed.randint(5, 30, 2, 6), "labels": testbed.randint(5, 30, 2, 6)}
    if name in ("compute_loss", "training_step"):
        given = (trainer.model, batch) if name == "training_step" else (trainer.model, batch, False)
        loss = call(*given, num_items_in_batch=None) if is_named else call(*given, None)
        return torch.stack(
            [loss.detach(), *(each.grad.norm() for each in trainer.model.parameters() if each.grad is not None)]
        )
    if name == "log":
        call({"loss": 0.5}, start_time=7.0) if is_named else call({"loss": 0.5}, None)
        return torch.tensor([entry["loss"] for entry in trainer.state.log_history])
    if name == "_get_train_sampler":
        torch.manual_seed(0)
        return torch.tensor(list(call(train_dataset=trainer.train_dataset) if is_named else call(None)))
    optimizer = call(model=trainer.model) if is_named else call(None)
    return torch.tensor([len(group["params"]) for group in optimizer.param_groups])


def _trainer(testbed: Testbed) -> Any:
    from transformers import TrainingArguments, trainer

    def known(**arguments: Any) -> Any:  # one accelerate for all of these releases
        return accelerator(**{name: value for name, value in arguments.items() if name in parameters})

    accelerator: Any = trainer.Accelerator
    parameters = signature(accelerator).parameters
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(trainer, "Accelerator", known):
        arguments = TrainingArguments(folder, report_to=[], use_cpu=testbed.device == "cpu", disable_tqdm=True)
        return trainer.Trainer(model=small_llama(testbed), args=arguments, train_dataset=texts(testbed))
