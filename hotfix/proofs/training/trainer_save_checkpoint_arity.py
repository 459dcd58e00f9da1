"""The proof: three checkpoints by an override of 4.47, and the best of them."""

import inspect
import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_save_checkpoint_arity import FIX


@FIX.case(
    raises="TypeError: .*_save_checkpoint\\(\\) got an unexpected keyword argument 'metrics'",
    packages={"accelerate": "0.34.2", "flash-attn": None},
    oracles={"*": "4.47.1"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The best metric and its checkpoint, in the Trainer and in the file."""
    from transformers import Trainer, TrainerState, TrainingArguments

    class Later(Trainer):  # type: ignore[misc,unused-ignore]
        saved = 0

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            super()._save_checkpoint(model, trial)
            self.saved += 1

    known = inspect.signature(TrainingArguments).parameters
    when = "eval_strategy" if "eval_strategy" in known else "evaluation_strategy"
    settings: dict[str, Any] = {when: "steps", "save_strategy": "steps", "eval_steps": 1, "save_steps": 1}
    settings.update(max_steps=3, learning_rate=0.1, report_to=[], disable_tqdm=True, use_cpu=True)
    samples = texts(testbed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, load_best_model_at_end=True, metric_for_best_model="loss", **settings)
        trainer = Later(model=small_llama(testbed), args=arguments, train_dataset=samples, eval_dataset=samples)
        trainer.train()
        read = TrainerState.load_from_json(f"{folder}/checkpoint-3/trainer_state.json")
    states = (trainer.state, read)
    return {
        "saved": torch.tensor(trainer.saved),
        "metric": torch.tensor([state.best_metric == min(_losses(state)) for state in states]),
        "checkpoint": torch.tensor([int(state.best_model_checkpoint.rpartition("-")[2]) for state in states]),
    }


def _losses(state: Any) -> list[float]:
    """The evaluated losses; a release computes them a little differently than another."""
    return [entry["eval_loss"] for entry in state.log_history if "eval_loss" in entry]
