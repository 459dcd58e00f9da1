"""The proof: a dataclass of a script is made with arguments of 2023, pickled, and changed in one field."""

import pickle
import tempfile
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.training.training_args_subclass_arguments import FIX

SCRIPT: dict[str, Any] = {
    "overwrite_output_dir": True,
    "evaluation_strategy": "steps",
    "eval_steps": 7,
    "per_gpu_train_batch_size": 3,
    "warmup_ratio": 0.1,
    "no_cuda": True,
    "split_batches": True,
    "save_safetensors": True,
    "report_to": [],
}


@FIX.case(raises="TypeError: .*__init__\\(\\) got an unexpected keyword argument", packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the arguments do, and what can be seen of the class."""
    from transformers import TrainingArguments

    @dataclass
    class Script(TrainingArguments):
        extra: int = 1

        def __post_init__(self) -> None:
            super().__post_init__()
            self.of_class = type(self)

    Script.__qualname__ = "Script"
    Script.__module__ = __name__
    globals()["Script"] = Script  # for pickle
    with tempfile.TemporaryDirectory() as folder:
        made = Script(folder, **SCRIPT, extra=4)
        plain = Script(folder, report_to=[])
        again = replace(pickle.loads(pickle.dumps(made)), eval_steps=8)
    del globals()["Script"]
    kinds = {parameter.kind for parameter in signature(Script).parameters.values()}
    return {
        "class": torch.tensor([type(each) is each.of_class is Script for each in (made, plain, again)]),
        "evaluation": torch.tensor([made.eval_strategy == "steps", again.eval_strategy == "steps"]),
        "steps": torch.tensor([made.eval_steps, again.eval_steps, made.extra, plain.extra]),
        "rows": torch.tensor(made.train_batch_size),
        "warmup": torch.tensor([made.get_warmup_steps(33), plain.get_warmup_steps(33)]),
        "split": torch.tensor(made.accelerator_config.split_batches),
        "cpu": torch.tensor(made.device.type == "cpu"),
        "signature": torch.tensor(kinds == {Parameter.POSITIONAL_OR_KEYWORD}),
        "fields": torch.tensor([field.name for field in fields(Script)][-1] == "extra"),
    }
