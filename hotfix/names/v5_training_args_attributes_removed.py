"""`TrainingArguments` no longer has attributes that programs read.

Symptom   ``AttributeError: 'TrainingArguments' object has no attribute 'evaluation_strategy'``; the same of
          ``logging_dir``, ``overwrite_output_dir``, ``no_cuda``, ``save_safetensors``, ``per_gpu_train_batch_size``,
          ``warmup_ratio``, ``group_by_length`` and twenty more, from trainers and scripts that look at their arguments.
Cause     The arguments were renamed or removed.
Releases  ``evaluation_strategy``, ``dispatch_batches`` and ``split_batches`` 4.51.0 and later, ``use_ipex`` 4.57.1 and
          later, ``group_by_length`` 5.2.0 and later, ``warmup_ratio`` and ``logging_dir`` 5.15.0 and later, the others
          5.0.0 and later
Upstream  by design (not put back)
Here      The value that the argument had if it was not given: its default, or what another argument of the release
          says. ``evaluation_strategy`` is ``eval_strategy``, as to 4.40.2; 4.41.0 to 4.50.3 had None. ``logging_dir``
          is the folder of the variable ``TENSORBOARD_LOGGING_DIR``, or a new name in ``runs``, made at the first
          reading. ``half_precision_backend``, which the Trainer of 4.x changed, is not restored.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'TrainingArguments' object has no attribute 'evaluation_strategy'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "AttributeError: '…' object has no attribute 'evaluation_strategy'",
        "AttributeError: '…' object has no attribute 'logging_dir'",
        "AttributeError: '…' object has no attribute 'overwrite_output_dir'",
        "AttributeError: '…' object has no attribute 'no_cuda'",
        "AttributeError: '…' object has no attribute 'save_safetensors'",
        "AttributeError: '…' object has no attribute 'warmup_ratio'",
        "AttributeError: '…' object has no attribute 'group_by_length'",
        "AttributeError: '…' object has no attribute 'per_gpu_train_batch_size'",
        "AttributeError: '…' object has no attribute 'per_gpu_eval_batch_size'",
        "AttributeError: '…' object has no attribute 'past_index'",
        "AttributeError: '…' object has no attribute 'fp16_backend'",
        "AttributeError: '…' object has no attribute 'fp16_opt_level'",
        "AttributeError: '…' object has no attribute 'use_legacy_prediction_loop'",
        "AttributeError: '…' object has no attribute 'include_inputs_for_metrics'",
        "AttributeError: '…' object has no attribute 'include_tokens_per_second'",
        "AttributeError: '…' object has no attribute 'push_to_hub_token'",
        "AttributeError: '…' object has no attribute 'push_to_hub_model_id'",
        "AttributeError: '…' object has no attribute 'push_to_hub_organization'",
        "AttributeError: '…' object has no attribute 'dispatch_batches'",
        "AttributeError: '…' object has no attribute 'split_batches'",
        "AttributeError: '…' object has no attribute 'tpu_num_cores'",
        "AttributeError: '…' object has no attribute 'use_mps_device'",
        "AttributeError: '…' object has no attribute 'adafactor'",
        "AttributeError: '…' object has no attribute 'torchdynamo'",
    ),
)

ARGUMENTS = "transformers.training_args:TrainingArguments"
# By the first release without them.
DEFAULTS: dict[str, dict[str, Any]] = {
    "4.51.0": {"dispatch_batches": None, "split_batches": None},
    "4.57.1": {"use_ipex": False},
    "5.0.0": {
        "adafactor": False,
        "fp16_backend": "auto",
        "fp16_opt_level": "O1",
        "framework": "pt",
        "fsdp_min_num_params": 0,
        "fsdp_transformer_layer_cls_to_wrap": None,
        "include_inputs_for_metrics": False,
        "include_tokens_per_second": False,
        "jit_mode_eval": False,
        "mp_parameters": "",
        "no_cuda": False,
        "overwrite_output_dir": False,
        "past_index": -1,
        "per_gpu_eval_batch_size": None,
        "per_gpu_train_batch_size": None,
        "push_to_hub_model_id": None,
        "push_to_hub_organization": None,
        "push_to_hub_token": None,
        "ray_scope": "last",
        "save_safetensors": True,
        "torchdynamo": None,
        "tpu_metrics_debug": False,
        "tpu_num_cores": None,
        "use_legacy_prediction_loop": False,
        "use_mps_device": False,
    },
}


def _constant(value: Any) -> Callable[[Any], property]:
    return lambda module: property(lambda arguments: value)


for _release, _values in DEFAULTS.items():
    for _name, _value in _values.items():
        FIX.adds_made((f"{ARGUMENTS}.{_name}", f">={_release}"), of_instances=True)(_constant(_value))


@FIX.adds_made((f"{ARGUMENTS}.evaluation_strategy", ">=4.51.0"), of_instances=True)
def evaluation_strategy(module: Any) -> property:
    """When to evaluate."""
    return property(lambda arguments: arguments.eval_strategy)


@FIX.adds_made((f"{ARGUMENTS}.group_by_length", ">=5.2.0"), of_instances=True)
def group_by_length(module: Any) -> property:
    """Whether samples of about the same length are in a batch."""
    return property(lambda arguments: arguments.train_sampling_strategy == "group_by_length")


@FIX.adds_made((f"{ARGUMENTS}.warmup_ratio", ">=5.15.0"), of_instances=True)
def warmup_ratio(module: Any) -> property:
    """The part of the steps in which the learning rate rises; 0 if it is a number of steps."""
    return property(lambda arguments: arguments.warmup_steps if 0 < arguments.warmup_steps < 1 else 0.0)


@FIX.adds_made((f"{ARGUMENTS}.logging_dir", ">=5.15.0"), of_instances=True)
def logging_dir(module: Any) -> property:
    """The folder of the logs, which stays the same for an object."""

    def folder(arguments: Any) -> str:
        known = vars(arguments)
        if "logging_dir" not in known:
            integrations: Any = import_module("transformers.integrations.integration_utils")
            new = os.path.join(arguments.output_dir, integrations.default_logdir())
            known["logging_dir"] = os.path.expanduser(os.getenv("TENSORBOARD_LOGGING_DIR") or new)
        return str(known["logging_dir"])

    return property(folder)
