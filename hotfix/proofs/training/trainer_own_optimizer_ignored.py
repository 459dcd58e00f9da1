"""The proof: training with the optimizer and the schedule of a subclass."""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_own_optimizer_ignored import FIX


@FIX.case(packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights, and the learning rates of the steps, for overrides that set all, a part, and nothing."""
    return {
        **_trained(testbed, "both", _sets_both),
        **_trained(testbed, "optimizer", _sets_the_optimizer),
        **_trained(testbed, "library's", lambda trainer, steps: None),
    }


def _sets_both(trainer: Any, steps: int) -> None:
    layers = [parameter for name, parameter in trainer.model.named_parameters() if "layers.1" in name]
    trainer.optimizer = torch.optim.SGD(layers, lr=0.5)
    trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(trainer.optimizer, lambda step: 1 / (1 + step / steps))


def _sets_the_optimizer(trainer: Any, steps: int) -> None:
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=0.25)
    trainer.create_scheduler(num_training_steps=steps, optimizer=trainer.optimizer)


def _trained(testbed: Testbed, way: str, make: Any) -> dict[str, torch.Tensor]:
    from transformers import Trainer, TrainingArguments

    class Own(Trainer):
        def create_optimizer_and_scheduler(self, num_training_steps: int) -> None:
            if way == "library's":
                super().create_optimizer_and_scheduler(num_training_steps)
            else:
                make(self, num_training_steps)

    model = small_llama(testbed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=4,
            per_device_train_batch_size=2,
            learning_rate=0.125,
            logging_steps=1,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = Own(model, arguments, train_dataset=texts(testbed))
        trainer.train()
    rates = [logs["learning_rate"] for logs in trainer.state.log_history if "learning_rate" in logs]
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    return {f"{way}: rates": torch.tensor(rates), f"{way}: weights": weights}
