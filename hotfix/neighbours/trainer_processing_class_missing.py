"""Newer TRL hands ``processing_class`` to a Trainer that only knows ``tokenizer``.

Symptom   ``TypeError: Trainer.__init__() got an unexpected keyword argument 'processing_class'``, from TRL 0.12 and
          later and from scripts that were written for 4.46 and later.
Cause     The argument was renamed in 4.46.1.
Releases  4.36.0 to 4.45.2
Upstream  transformers#32385, first there in 4.46.1
Here      ``processing_class`` is taken for ``tokenizer``, and a Trainer has it as an attribute; both arguments together
          are refused, as in 4.46.1. What is assigned to the attribute later is not what these releases save.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    id="trainer-processing-class-missing",
    title="TypeError: Trainer.__init__() got an unexpected keyword argument 'processing_class'",
    kind="crash",
    upstream=("transformers#32385",),
    fixed_in="4.46.1",
    prefilter="compute_metrics",
)

BROKEN = ">=4.36.0,<=4.45.2"


@FIX.recognises
def knows_only_tokenizers(node: ast.AST) -> bool:
    """Whether it is the initialiser of a Trainer without the argument."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return False
    names = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
    return {"tokenizer", "train_dataset", "compute_metrics"} <= names and "processing_class" not in names


@FIX.wraps(("transformers.trainer:Trainer.__init__", BROKEN))
def initialised(original: Callable[..., None]) -> Callable[..., None]:
    """Rename the argument, and give the attribute."""

    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        if "processing_class" in kwargs:
            given = kwargs.pop("processing_class")
            if kwargs.get("tokenizer") is not None:
                raise ValueError(
                    "You cannot specify both `tokenizer` and `processing_class`: the latter is the new name."
                )
            kwargs["tokenizer"] = given
        original(self, *args, **kwargs)
        # Of the instance, as in 4.46.1, and not in the way of a class that has an attribute of this name.
        vars(self).setdefault("processing_class", self.tokenizer)

    return initialise


@FIX.wraps(("transformers.trainer_seq2seq:Seq2SeqTrainer.__init__", BROKEN))
def initialised_seq2seq(original: Callable[..., None]) -> Callable[..., None]:
    """The same; what it hands on has the old name."""
    return initialised(original)
