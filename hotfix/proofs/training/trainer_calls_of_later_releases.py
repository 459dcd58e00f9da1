"""The proof: a Trainer for later releases trains for two steps."""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.training.trainer_calls_of_later_releases import FIX


@FIX.case(
    raises="TypeError: .*(unexpected keyword argument|positional argument)",
    packages={"accelerate": "0.34.2", "flash-attn": None},  # one for all of these releases
    oracles={
        "transformers.trainer:Trainer.compute_loss": "4.46.3",
        "transformers.trainer:Trainer.training_step": "4.46.3",
        "transformers.trainer:Trainer.log": "4.47.1",
    },
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights afterwards; for the sampler, the order of the rows."""
    from transformers import Trainer, TrainingArguments

    class Tiny(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 1)

        def forward(self, x: Any, labels: Any) -> Any:
            return {"loss": ((self.linear(x).squeeze(-1) - labels) ** 2).mean()}

    def compute_loss(
        self: Any, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        first = Trainer.compute_loss(self, model, inputs, return_outputs, num_items_in_batch)
        return first + Trainer.compute_loss(self, model, inputs, num_items_in_batch=None) * 0

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        return Trainer.training_step(self, model, inputs, num_items_in_batch)

    def log(self: Any, logs: Any, start_time: Any = None) -> None:
        Trainer.log(self, logs, start_time)

    def _get_train_sampler(self: Any, train_dataset: Any = None) -> Any:
        return Trainer._get_train_sampler(self, train_dataset)

    method = target.qualname.rpartition(".")[2]
    overrides = {"compute_loss": compute_loss, "training_step": training_step, "log": log}
    mine: Any = type("Mine", (Trainer,), {method: {**overrides, "_get_train_sampler": _get_train_sampler}[method]})
    rows = [{"x": testbed.randn(3), "labels": testbed.randn(1)[0]} for _ in range(8)]
    model = testbed.fill(Tiny())
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"max_steps": 2, "logging_steps": 1, "use_cpu": True, "report_to": [], "seed": 3}
        arguments = TrainingArguments(folder, **settings, disable_tqdm=True, save_strategy="no")
        trainer = mine(model, arguments, train_dataset=rows)
        if method == "_get_train_sampler":
            torch.manual_seed(0)
            return {"rows": torch.tensor([*trainer._get_train_sampler(), *trainer._get_train_sampler(rows)])}
        trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return {"weight": model.linear.weight, "losses": torch.tensor(losses)}
