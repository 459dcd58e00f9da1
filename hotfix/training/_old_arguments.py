"""Arguments that `TrainingArguments` has lost, in the words of the release."""

from __future__ import annotations

import ast
import math
from dataclasses import fields
from functools import partial
from typing import Any, Callable

# Those that have another name.
RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "push_to_hub_token": "hub_token",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
}
# Values that had no effect.
WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "adafactor": (False,),
    "dispatch_batches": (None,),
    "evaluation_strategy": (None,),
    "fp16_backend": ("auto", "cuda_amp"),
    "fp16_opt_level": ("O0", "O1", "O2", "O3"),  # of apex, which is refused
    "fsdp_min_num_params": (0,),
    "fsdp_transformer_layer_cls_to_wrap": (None,),
    "group_by_length": (False,),
    "half_precision_backend": ("auto", "cuda_amp"),
    "include_inputs_for_metrics": (False,),
    "include_tokens_per_second": (False, None),
    "jit_mode_eval": (False,),
    "logging_dir": (None,),
    "mp_parameters": ("",),
    "no_cuda": (),
    "overwrite_output_dir": (False, True),  # the Trainer never looked at it
    "past_index": (-1,),
    "per_gpu_eval_batch_size": (None,),
    "per_gpu_train_batch_size": (None,),
    "push_to_hub_model_id": (None,),
    "push_to_hub_organization": (None,),
    "push_to_hub_token": (None,),
    "ray_scope": ("last",),
    "save_safetensors": (True,),
    "split_batches": (None, False),
    "torchdynamo": (None,),
    "tp_size": (0,),
    "tpu_metrics_debug": (False,),
    "tpu_num_cores": (None,),
    "use_ipex": (False,),
    "use_legacy_prediction_loop": (False,),
    "use_mps_device": (False, True),  # MPS is taken where it is there
    "warmup_ratio": (0, None),
}


def has_lost_arguments(definition: ast.AST) -> bool:
    """Whether a class of training arguments has lost the first of them."""
    if not isinstance(definition, ast.ClassDef) or definition.name != "TrainingArguments":
        return False
    names = [
        field.target.id for field in definition.body if isinstance(field, ast.AnnAssign) and hasattr(field.target, "id")
    ]
    return "eval_strategy" in names and "evaluation_strategy" not in names


def fields_of(kind: Any) -> set[str]:
    """The names that a class of training arguments takes as they are meant."""
    # Where its default is None, the ratio is taken for a number of steps, 1.0 for one step, and wins over steps.
    return {field.name for field in fields(kind) if field.name != "warmup_ratio" or field.default is not None}


def without_old_names(given: dict[str, Any], known: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Translate the arguments that a release does not know.

    Args:
        given: arguments, by name.
        known: names of the fields of the release.

    Returns:
        The arguments of the release, and those of the given that it does not know. One that has no translation stays
        among the former, and raises.

    Raises:
        ValueError: a ratio is not between 0 and 1.
    """
    old = {name: value for name, value in given.items() if name in WITHOUT_EFFECT and name not in known}
    made = {name: value for name, value in given.items() if name not in old}
    for name, value in old.items():
        if not any(value is neutral or value == neutral for neutral in WITHOUT_EFFECT[name]):
            _translate(name, value, made)
    return made, old


def _translate(name: str, value: Any, kwargs: dict[str, Any]) -> None:
    """Translate an old argument into those of the release; without a translation it is passed on, and raises."""
    translated = _TRANSLATIONS.get(name, partial(_renamed, RENAMED[name]) if name in RENAMED else None)
    if translated is None or not translated(value, kwargs):
        kwargs[name] = value


def _renamed(new: str, value: Any, kwargs: dict[str, Any]) -> bool:
    kwargs[new] = value
    return True


def _warmup(ratio: float, kwargs: dict[str, Any]) -> bool:
    if not 0 <= ratio <= 1:
        raise ValueError("warmup_ratio must lie in range [0,1]")
    if not kwargs.get("warmup_steps"):  # the number of steps counted where both were given
        # 1 would be one step.
        kwargs["warmup_steps"] = min(float(ratio), math.nextafter(1.0, 0.0))
    return True


def _accelerator(name: str, value: Any, kwargs: dict[str, Any]) -> bool:
    settings = kwargs.get("accelerator_config") or {}
    if not isinstance(settings, dict):
        return False
    kwargs["accelerator_config"] = {**settings, name: value}
    return True


def _inputs(value: Any, kwargs: dict[str, Any]) -> bool:
    kwargs["include_for_metrics"] = [*(kwargs.get("include_for_metrics") or []), "inputs"]
    return True


def _one_value(new: str, meaning: Any, value: Any, kwargs: dict[str, Any]) -> bool:
    """An old flag that is a value of another argument."""
    if value is True:
        kwargs[new] = meaning
    return value is True


def _kept(value: Any, kwargs: dict[str, Any]) -> bool:
    """The callback of TensorBoard reads it from the object."""
    return True


_GIVEN_FOLDER = "_logging_dir_was_given"


def keep(arguments: Any, old: dict[str, Any]) -> None:
    """Let given values be read from an object under their old names.

    Args:
        arguments: the training arguments.
        old: the values by name.
    """
    for name, value in old.items():
        vars(arguments).setdefault(name, value)
    if old.get("logging_dir") is not None:
        vars(arguments)[_GIVEN_FOLDER] = True


def folder_of(arguments: Any) -> Any:
    """The folder for TensorBoard if the constructor has received one; an attribute that was set later is the user's."""
    own = getattr(arguments, "__dict__", {})
    return own.get("logging_dir") if own.get(_GIVEN_FOLDER) is True else None


_TRANSLATIONS: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "warmup_ratio": _warmup,
    "dispatch_batches": partial(_accelerator, "dispatch_batches"),
    "split_batches": partial(_accelerator, "split_batches"),
    "include_inputs_for_metrics": _inputs,
    "adafactor": partial(_one_value, "optim", "adafactor"),
    "group_by_length": partial(_one_value, "train_sampling_strategy", "group_by_length"),
    "logging_dir": _kept,
}
