"""The proof: a command line and a file of a script of 2023."""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.training.parser_flags_removed import FIX

FLAGS: dict[str, Any] = {
    "overwrite_output_dir": True,
    "evaluation_strategy": "steps",
    "eval_steps": 7,
    "save_strategy": "no",
    "warmup_ratio": 0.1,
    "group_by_length": True,
    "split_batches": True,
    "no_cuda": True,
    "save_safetensors": True,
    "include_inputs_for_metrics": True,
    "adafactor": True,
    "logging_dir": "logs",
    "report_to": "none",
}


@FIX.case(
    raises="ValueError: Some (specified arguments|keys) are not used by the HfArgumentParser", packages=LATER_PACKAGES
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Numbers, since the fields have other names in each release."""
    from transformers import HfArgumentParser, TrainingArguments

    parser: Any = HfArgumentParser(TrainingArguments)
    with tempfile.TemporaryDirectory() as folder:
        given = {"output_dir": folder, **FLAGS}
        if target.qualname.endswith("parse_dict"):
            (arguments,) = parser.parse_dict(given)
        else:
            strings = [string for name, value in given.items() for string in (f"--{name}", str(value))]
            strings.remove("True")  # the value of a flag may be omitted
            (arguments,) = parser.parse_args_into_dataclasses(strings)
    by_length = [getattr(arguments, "group_by_length", None), getattr(arguments, "train_sampling_strategy", None)]
    return {
        "evaluation": torch.tensor([arguments.eval_strategy == "steps", arguments.eval_steps == 7]),
        "saving": torch.tensor(arguments.save_strategy == "no"),
        "warmup": torch.tensor(arguments.get_warmup_steps(33)),
        "by length": torch.tensor(True in by_length or "group_by_length" in by_length),
        "split": torch.tensor(arguments.accelerator_config.split_batches),
        "cpu": torch.tensor(arguments.device.type == "cpu"),
        "inputs": torch.tensor("inputs" in arguments.include_for_metrics),
        "optimizer": torch.tensor(arguments.optim == "adafactor"),
        "folder": torch.tensor(arguments.logging_dir == "logs"),
    }
