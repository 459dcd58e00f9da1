"""The proof: arguments of scripts for 5.x, read back as what they do."""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.training.training_args_of_later_releases import FIX

SCRIPT: dict[str, Any] = {
    "warmup_steps": 0.1,
    "train_sampling_strategy": "group_by_length",
    "include_for_metrics": ["inputs"],
    "average_tokens_across_devices": True,
    "project": "mine",
    "trackio_space_id": None,
    "parallelism_config": None,
    "liger_kernel_config": None,
    "hub_revision": None,
    "enable_jit_checkpoint": False,
    "use_cpu": True,
    "report_to": [],
}


@FIX.case(
    raises="TypeError: .*__init__\\(\\) got an unexpected keyword argument|ValueError: warmup_steps must be",
    packages={"accelerate": "1.10.1", "flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Numbers, since the fields have other names in each release."""
    import transformers

    kind: Any = getattr(transformers, target.qualname.partition(".")[0])
    with tempfile.TemporaryDirectory() as folder:
        arguments = kind(folder, **SCRIPT)
        plain = {"train_sampling_strategy": "random", "report_to": [], "use_cpu": True}
        others = [kind(folder, **plain, warmup_steps=steps) for steps in (0.0, 0.999, 7)]
    by_length = [getattr(arguments, "group_by_length", None), arguments.train_sampling_strategy]
    inputs = getattr(arguments, "include_inputs_for_metrics", False) or "inputs" in arguments.include_for_metrics
    return {
        "warmup": torch.tensor([settings.get_warmup_steps(33) for settings in (arguments, *others)]),
        "by length": torch.tensor(True in by_length or "group_by_length" in by_length),
        "inputs": torch.tensor(bool(inputs)),
        "read": torch.tensor([arguments.project == "mine", arguments.parallelism_config is None]),
    }
