"""`TrainingArguments` does not know arguments of later releases yet.

Symptom   ``TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'train_sampling_strategy'``; the
          same of ``project``, ``parallelism_config``, ``liger_kernel_config``, ``average_tokens_across_devices``,
          ``include_for_metrics`` and others; ``ValueError: warmup_steps must be of type int and must be 0 or a positive
          integer`` from ``warmup_steps=0.1``.
Cause     The arguments came with 4.37.0 to 5.2.0; from 5.0.0 on ``warmup_steps`` takes a fraction as well.
Releases  before 5.2.0
Upstream  the arguments are new
Here      After the error, the call is repeated: values that leave later releases as this one is are left out, a
          fraction becomes ``warmup_ratio``, "group_by_length" the flag of that name, and ``include_for_metrics`` the
          flag for inputs. Any other value raises as before. What was left out can be read from the object.
          `Seq2SeqTrainingArguments` as well; dataclasses that inherit from either have constructors of their own,
          which are not changed.
"""

from __future__ import annotations

import ast
import os
from dataclasses import fields
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

# Values with which a later release does what the release does.
WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "activation_checkpointing": (None, False),
    "activation_checkpointing_kwargs": (None,),
    "average_tokens_across_devices": (False,),
    "batch_eval_metrics": (False,),
    "dataloader_in_order": (True,),
    "dataloader_multiprocessing_context": (None,),
    "dataloader_prefetch_factor": (None,),
    "ddp_static_graph": (None, False),
    "enable_jit_checkpoint": (False,),
    "eval_do_concat_batches": (True,),
    "eval_on_start": (False,),
    "eval_use_gather_object": (False,),
    "gradient_checkpointing_kwargs": (None,),
    "hub_revision": (None,),
    "include_for_metrics": ([], ()),
    "liger_kernel_config": (None,),
    "neftune_noise_alpha": (None,),
    "optim_target_modules": (None,),
    "parallelism_config": (None,),
    "restore_callback_states_from_checkpoint": (False,),
    "torch_empty_cache_steps": (None,),
    "train_sampling_strategy": ("random",),
    "use_liger_kernel": (False,),
}
# Only the callback of Trackio reads them, which releases without them do not have.
OF_TRACKIO = {"project", "trackio_bucket_id", "trackio_space_id", "trackio_static_space_id"}

_OF_WARMUP = "ValueError: warmup_steps must be of type int and must be 0 or a positive integer."

FIX = Fix(
    title="TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'train_sampling_strategy'",
    kind="removed-api",
    fixed_in="5.2.0",
    group="removed-names",
    errors=(
        *(
            f"TypeError: …TrainingArguments.__init__() got an unexpected keyword argument '{name}'"
            for name in (*WITHOUT_EFFECT, *sorted(OF_TRACKIO))
        ),
        _OF_WARMUP,
    ),
    prefilter="TrainingArguments",
)

BROKEN = "<5.2.0"
ARGUMENTS = "transformers.training_args:TrainingArguments"
REFUSED = ("TypeError: …__init__() got an unexpected keyword argument …", f"{_OF_WARMUP}…")


@FIX.wraps((f"{ARGUMENTS}.__init__", BROKEN), fingerprint_of=("TrainingArguments",), on_error=REFUSED)
@FIX.wraps(
    ("transformers.training_args_seq2seq:Seq2SeqTrainingArguments.__init__", BROKEN),
    fingerprint_of=(ARGUMENTS,),
    on_error=REFUSED,
)
def in_words_of_the_release(original: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments as the release knows them."""

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        known = {field.name for field in fields(self)}
        new = {name: value for name, value in kwargs.items() if name not in known and _translates(name, value)}
        for name, value in new.items():
            del kwargs[name]
            if name == "train_sampling_strategy" and value == "group_by_length":
                kwargs.setdefault("group_by_length", True)
            elif name == "include_for_metrics" and value:
                kwargs.setdefault("include_inputs_for_metrics", True)
        _as_whole_steps(kwargs)
        original(self, *args, **kwargs)
        for name, value in new.items():
            self.__dict__.setdefault(name, value)

    return init


@FIX.recognises
def lacks_the_last_one(definition: ast.AST) -> bool:
    """Whether it is a class of training arguments from before 5.2.0."""
    if not isinstance(definition, ast.ClassDef) or definition.name != "TrainingArguments":
        return False
    names = [
        field.target.id for field in definition.body if isinstance(field, ast.AnnAssign) and hasattr(field.target, "id")
    ]
    return "per_device_train_batch_size" in names and "train_sampling_strategy" not in names


def _translates(name: str, value: Any) -> bool:
    """Whether the release can do what an argument says."""
    if name in OF_TRACKIO:
        return True
    if name == "train_sampling_strategy" and value == "group_by_length":
        return True
    if name == "include_for_metrics" and value in (["inputs"], ("inputs",)):
        return True
    if name == "average_tokens_across_devices" and value is True:
        return os.environ.get("WORLD_SIZE", "1") == "1"
    return any(value is neutral or value == neutral for neutral in WITHOUT_EFFECT.get(name, ()))


def _as_whole_steps(kwargs: dict[str, Any]) -> None:
    """A fraction of the steps has an argument of its own; a whole number is an integer."""
    steps = kwargs.get("warmup_steps")
    if not isinstance(steps, float):
        return
    if steps >= 1:
        kwargs["warmup_steps"] = int(steps)
    elif steps >= 0 and not kwargs.get("warmup_ratio"):
        kwargs["warmup_ratio"] = kwargs.pop("warmup_steps")
