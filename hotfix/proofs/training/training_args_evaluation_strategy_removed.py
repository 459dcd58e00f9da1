"""The proof: arguments of a script of 2023, read back as what they do."""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.training.training_args_evaluation_strategy_removed import FIX

SCRIPT: dict[str, Any] = {
    "overwrite_output_dir": True,
    "evaluation_strategy": "steps",
    "eval_steps": 7,
    "per_gpu_train_batch_size": 3,
    "warmup_ratio": 0.1,
    "group_by_length": True,
    "split_batches": True,
    "no_cuda": True,
    "save_safetensors": True,
    "half_precision_backend": "auto",
    "include_inputs_for_metrics": True,
    "adafactor": True,
    "report_to": [],
}


@FIX.case(raises="TypeError: .*__init__\\(\\) got an unexpected keyword argument", packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Numbers, since the fields have other names in each release."""
    import transformers

    kind: Any = getattr(transformers, target.qualname.partition(".")[0])
    with tempfile.TemporaryDirectory() as folder:
        arguments = kind(folder, **SCRIPT)
        whole = kind(folder, warmup_ratio=1.0, report_to=[], use_cpu=True)
        both = kind(folder, warmup_ratio=0.5, warmup_steps=4, report_to=[], use_cpu=True)
    by_length = [getattr(arguments, "group_by_length", None), getattr(arguments, "train_sampling_strategy", None)]
    return {
        "evaluation": torch.tensor([arguments.eval_strategy == "steps", arguments.eval_steps == 7]),
        "rows": torch.tensor(arguments.train_batch_size),
        "warmup": torch.tensor([settings.get_warmup_steps(33) for settings in (arguments, whole, both)]),
        "by length": torch.tensor(True in by_length or "group_by_length" in by_length),
        "split": torch.tensor(arguments.accelerator_config.split_batches),
        "cpu": torch.tensor(arguments.device.type == "cpu"),
        "inputs": torch.tensor("inputs" in arguments.include_for_metrics),
        "optimizer": torch.tensor(arguments.optim == "adafactor"),
    }
