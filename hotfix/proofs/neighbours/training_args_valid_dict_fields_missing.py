"""The proof: arguments of another library inherit and add a field."""

import torch

from hotfix.neighbours.training_args_valid_dict_fields_missing import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: type object 'TrainingArguments' has no attribute '_VALID_DICT_FIELDS'",
    packages={"accelerate": "0.33.0", "flash-attn": None},  # one for all of these releases
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Inherit as TRL does, and give a dictionary as text."""
    from dataclasses import dataclass, field
    from typing import Optional

    from transformers import TrainingArguments

    @dataclass
    class Arguments(TrainingArguments):
        _VALID_DICT_FIELDS = [*TrainingArguments._VALID_DICT_FIELDS, "more"]  # noqa: RUF012

        more: Optional[str] = field(default=None)

    given = Arguments(output_dir="unused", gradient_checkpointing_kwargs={"use_reentrant": False}, use_cpu=True)
    # Fields that came later are not in the list of releases that do not have them.
    always = [field for field in Arguments._VALID_DICT_FIELDS if field in ("deepspeed", "fsdp_config", "more")]
    return {"fields": words(*sorted(always)), "given": words(str(given.gradient_checkpointing_kwargs))}
