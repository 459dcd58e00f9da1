"""The proof: attributes are read from arguments without them, and from some with their successors."""

import os
import tempfile
from dataclasses import fields
from typing import Any

import torch

from hotfix.names.v5_training_args_attributes_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

# With another name, and with the name of 4.40.
GIVEN: dict[str, dict[str, Any]] = {
    "evaluation_strategy": {"eval_strategy": "epoch", "evaluation_strategy": "epoch"},
    "group_by_length": {"train_sampling_strategy": "group_by_length", "group_by_length": True},
    "warmup_ratio": {"warmup_steps": 0.25, "warmup_ratio": 0.25},
}


@FIX.case(
    raises="AttributeError: 'TrainingArguments' object has no attribute '",
    oracles={"*": "4.40.2"},
    packages={"accelerate": "1.15.0", "flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """An attribute, without its argument and with it."""
    from transformers import TrainingArguments

    name = target.qualname.rpartition(".")[2]
    with tempfile.TemporaryDirectory() as folder:
        arguments: Any = TrainingArguments(folder, report_to=[])
        value = getattr(arguments, name)
        if name == "logging_dir":
            where, run = os.path.split(value)
            value = [os.path.relpath(where, folder), len(run.split("_")), value == arguments.logging_dir]
        known = {field.name for field in fields(TrainingArguments)}
        ways = GIVEN.get(name, {})
        given = {way: ways[way] for way in ways if (way == name) == (name in known)}
        other = value if name == "logging_dir" else getattr(TrainingArguments(folder, report_to=[], **given), name)
    return {"value": words(str(getattr(value, "value", value)), str(getattr(other, "value", other)))}
