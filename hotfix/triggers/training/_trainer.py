"""Shared by the triggers of the Trainer."""

from __future__ import annotations

import sys
from typing import Any


def release() -> str:
    """The release of transformers that this process runs."""
    return str(getattr(sys.modules.get("transformers"), "__version__", ""))


def is_deepspeed(trainer: Any) -> bool:
    """Whether a Trainer works under DeepSpeed, whose engine divides the loss in its own backward pass."""
    kind = trainer.accelerator.distributed_type
    return str(getattr(kind, "value", kind)) == "DEEPSPEED"


def is_divided_later(trainer: Any) -> bool:
    """Whether DeepSpeed or Accelerate, if its launcher got the number, divides the loss by the micro-batches."""
    return is_deepspeed(trainer) or trainer.accelerator.gradient_accumulation_steps > 1


def micro_batches(trainer: Any) -> int:
    """How many micro-batches this step has: fewer than it should where an epoch ends, which is known from 5.0.0 on."""
    return int(getattr(trainer, "current_gradient_accumulation_steps", trainer.args.gradient_accumulation_steps))
