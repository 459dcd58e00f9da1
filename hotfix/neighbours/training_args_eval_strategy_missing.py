"""``eval_strategy`` is not known yet.

Symptom   ``TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'eval_strategy'`` from scripts
          for 4.41 and later; ``AttributeError: 'TrainingArguments' object has no attribute 'eval_strategy'`` from
          Trainers of that time.
Cause     ``evaluation_strategy`` was renamed in 4.41.0.
Releases  4.36.0 to 4.40.2
Upstream  transformers#30190, first there in 4.41.0
Here      Where the constructor of either class of arguments refuses the new name, it is taken for the old one; where
          both are given, the old one counts, as in 4.41.0. Code that would crash without the attribute reads the old
          one. The classes have no field more: ``hasattr``, `dataclasses.fields` and parsers see what the release has.
          Dataclasses that inherit from either have constructors of their own, which are not changed.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'eval_strategy'",
    kind="crash",
    upstream=("transformers#30190",),
    fixed_in="4.41.0",
    errors=(
        "TypeError: …TrainingArguments.__init__() got an unexpected keyword argument 'eval_strategy'",
        "AttributeError: '…TrainingArguments' object has no attribute 'eval_strategy'",
    ),
    prefilter="TrainingArguments",
)

BROKEN = ">=4.36.0,<=4.40.2"
REFUSED = ("TypeError: …got an unexpected keyword argument 'eval_strategy'",)
ARGUMENTS = "transformers.training_args:TrainingArguments"


@FIX.wraps((f"{ARGUMENTS}.__init__", BROKEN), fingerprint_of=("TrainingArguments",), on_error=REFUSED)
@FIX.wraps(
    ("transformers.training_args_seq2seq:Seq2SeqTrainingArguments.__init__", BROKEN),
    fingerprint_of=(ARGUMENTS,),
    on_error=REFUSED,
)
def by_the_new_name(original: Callable[..., None]) -> Callable[..., None]:
    """Rename the argument."""

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "eval_strategy" in kwargs:
            kwargs.setdefault("evaluation_strategy", kwargs.pop("eval_strategy"))
        original(self, *args, **kwargs)

    return init


@FIX.adds_made((f"{ARGUMENTS}.eval_strategy", BROKEN))
def eval_strategy(training_args: Any) -> property:
    """The attribute. Who sets it sets one of the instance, as in the release."""
    return property(lambda self: self.evaluation_strategy, doc="The new name of evaluation_strategy.")


@FIX.recognises
def knows_the_old_name_only(definition: ast.AST) -> bool:
    """The class has the one field and not the other."""
    if not isinstance(definition, ast.ClassDef) or definition.name != "TrainingArguments":
        return False
    names = [
        field.target.id for field in definition.body if isinstance(field, ast.AnnAssign) and hasattr(field.target, "id")
    ]
    return "evaluation_strategy" in names and "eval_strategy" not in names
