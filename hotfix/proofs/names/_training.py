"""Shared by the cases of arguments: one step with a custom Trainer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any, Optional

import torch

PACKAGES: dict[str, Optional[str]] = {"accelerate": "1.15.0", "flash-attn": None}


def loss_of_a_step(model: Any, samples: Sequence[Any], trainer: Any = None, **arguments: Any) -> torch.Tensor:
    """Train for one step on the CPU, and return the loss.

    Args:
        model: the model.
        samples: the data set.
        trainer: a subclass of the Trainer; the Trainer itself if None.
        **arguments: further `TrainingArguments`.
    """
    from transformers import Trainer, TrainingArguments

    settings: dict[str, Any] = {"max_steps": 1, "report_to": [], "use_cpu": True, "disable_tqdm": True}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"save_strategy": "no", "per_device_train_batch_size": 1, **settings, **arguments}
        made = (trainer or Trainer)(
            model=model, args=TrainingArguments(folder, **settings), train_dataset=list(samples)
        )
        return torch.tensor(made.train().training_loss)
