"""``eval_strategy`` is not known yet.

Symptom   ``TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'eval_strategy'`` from scripts
          for 4.41 and later; ``AttributeError: 'TrainingArguments' object has no attribute 'eval_strategy'`` from
          Trainers of that time.
Cause     ``evaluation_strategy`` was renamed in 4.41.0.
Releases  4.36.0 to 4.40.2
Upstream  transformers#30190, first there in 4.41.0
Here      The new name is taken for the old one, as an argument of both classes of arguments and as an attribute; where
          both are given, the old one counts, as in 4.41.0. Dataclasses that inherit from either have constructors of
          their own, which are not changed, and neither is what a script parses from its command line.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    id="training-args-eval-strategy-missing",
    title="TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'eval_strategy'",
    kind="crash",
    upstream=("transformers#30190",),
    fixed_in="4.41.0",
    prefilter="TrainingArguments",
)

BROKEN = ">=4.36.0,<=4.40.2"
ARGUMENTS = "transformers.training_args:TrainingArguments"


@FIX.wraps((f"{ARGUMENTS}.__init__", BROKEN), fingerprint_of=("TrainingArguments",))
@FIX.wraps(
    ("transformers.training_args_seq2seq:Seq2SeqTrainingArguments.__init__", BROKEN), fingerprint_of=(ARGUMENTS,)
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
    """The attribute, to read and to change."""

    def read(self: Any) -> Any:
        return self.evaluation_strategy

    def change(self: Any, value: Any) -> None:
        self.evaluation_strategy = value

    return property(read, change, doc="The new name of evaluation_strategy.")


@FIX.recognises
def knows_the_old_name_only(definition: ast.AST) -> bool:
    """The class has the one field and not the other."""
    if not isinstance(definition, ast.ClassDef) or definition.name != "TrainingArguments":
        return False
    names = [one.target.id for one in definition.body if isinstance(one, ast.AnnAssign) and hasattr(one.target, "id")]
    return "evaluation_strategy" in names and "eval_strategy" not in names
