"""`TrainingArguments` does not know arguments that scripts have used for years.

Symptom   ``TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'``; the same
          of ``overwrite_output_dir``, ``no_cuda``, ``save_safetensors``, ``group_by_length``, ``warmup_ratio`` and some
          25 more.
Cause     They were renamed, or removed.
Releases  ``evaluation_strategy``, ``dispatch_batches`` and ``split_batches`` from 4.51.0 on, most of the others from
          5.0.0 on, ``group_by_length`` from 5.2.0 on, ``warmup_ratio`` and ``logging_dir`` from 5.15.0 on
Upstream  Whisper-Finetune#112, course#987, llm-book#56 and three more (not put back)
Here      Renamed arguments get their new names, a ratio becomes the fraction that ``warmup_steps`` takes (on 5.x to
          5.14.1 as well, which take 1.0 for one step), and values without effect are left out. TensorBoard writes to
          ``logging_dir``. An argument without a successor raises as before, as does a value that the release refuses.
          The given value can be read from the object under its old name. `Seq2SeqTrainingArguments` as well;
          dataclasses that inherit from either have constructors of their own, which are not changed.
          ``parser-flags-removed`` deals with what a script parses.
"""

from __future__ import annotations

import os
from dataclasses import fields
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

from ._old_arguments import fields_of, folder_of, has_lost_arguments, keep, without_old_names

FIX = Fix(
    title="TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
    kind="removed-api",
    upstream=("Whisper-Finetune#112", "course#987", "llm-book#56"),
    group="removed-names",
    errors=(
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'overwrite_output_dir'",
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'no_cuda'",
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'save_safetensors'",
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'group_by_length'",
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'warmup_ratio'",
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'logging_dir'",
    ),
    everyone="only after the TypeError; TensorBoard only where the release has no logging_dir",
    prefilter="TrainingArguments",
)

_UNKNOWN = ("TypeError: …__init__() got an unexpected keyword argument …",)


@FIX.wraps(
    ("transformers.training_args:TrainingArguments.__init__", ">=4.51.0"),
    fingerprint_of=("TrainingArguments",),
    on_error=_UNKNOWN,
)
@FIX.wraps(
    ("transformers.training_args_seq2seq:Seq2SeqTrainingArguments.__init__", ">=4.51.0"),
    fingerprint_of=("transformers.training_args:TrainingArguments",),
    on_error=_UNKNOWN,
)
def by_old_names(original: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments under the names that the release has for them."""

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made, old = without_old_names(kwargs, fields_of(type(self)))
        is_known = made.keys() <= {field.name for field in fields(self)}
        original(self, *args, **(made if is_known else kwargs))  # with another unknown argument the error stays
        keep(self, old)

    return init


@FIX.wraps(
    ("transformers.integrations.integration_utils:TensorBoardCallback.on_train_begin", ">=4.51.0"),
    fingerprint_of=("transformers.training_args:TrainingArguments",),
)
def to_the_given_folder(original: Callable[..., Any]) -> Callable[..., Any]:
    """TensorBoard writes to ``logging_dir`` where the release has no such argument."""

    def on_train_begin(self: Any, args: Any, *rest: Any, **kwargs: Any) -> Any:
        folder = folder_of(args)
        if folder is not None and self.logging_dir is None:
            self.logging_dir = os.path.expanduser(folder)
        return original(self, args, *rest, **kwargs)

    return on_train_begin


FIX.recognises(has_lost_arguments)
