"""Newer TRL cannot be imported: ``TrainingArguments`` has no ``_VALID_DICT_FIELDS``.

Symptom   ``AttributeError: type object 'TrainingArguments' has no attribute '_VALID_DICT_FIELDS'`` from TRL 0.17 and
          later.
Cause     TRL adds its own fields to a list of the class that was a list of the module until 4.50.3.
Releases  4.36.0 to 4.50.3
Upstream  first there in 4.51.0
Here      The list, of the fields of that release. These releases do not read the fields that TRL adds: such a field,
          written as JSON on a command line, stays text.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: type object 'TrainingArguments' has no attribute '_VALID_DICT_FIELDS'",
    kind="removed-api",
    fixed_in="4.51.0",
    group="removed-names",
    errors=("AttributeError: type object '…' has no attribute '_VALID_DICT_FIELDS'",),
)

FIELDS = ("accelerator_config", "fsdp_config", "deepspeed", "gradient_checkpointing_kwargs", "lr_scheduler_kwargs")


@FIX.adds_made(("transformers.training_args:TrainingArguments._VALID_DICT_FIELDS", ">=4.36.0,<=4.50.3"))
def fields(training_args: Any) -> list[str]:
    """Those that may be given as a dictionary."""
    has = training_args.TrainingArguments.__dataclass_fields__
    return [field for field in FIELDS if field in has]
