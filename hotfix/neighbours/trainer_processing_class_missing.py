"""Newer TRL passes ``processing_class`` to a Trainer that only knows ``tokenizer``.

Symptom   ``TypeError: Trainer.__init__() got an unexpected keyword argument 'processing_class'``, from TRL 0.12 and
          later and from scripts that were written for 4.46 and later.
Cause     The argument was renamed in 4.46.1.
Releases  4.36.0 to 4.45.2
Upstream  transformers#32385, first there in 4.46.1
Here      ``processing_class`` is taken for ``tokenizer``; both arguments together are refused, as in 4.46.1. A Trainer
          that got it has it as an attribute, and so has every Trainer for code that would crash without it: the
          tokenizer that the Trainer has at that moment. For all other code a Trainer has no such attribute, as in the
          release. These releases do not save an object that is assigned to the attribute later.
"""

from __future__ import annotations

import ast
import sys
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import restoring

FIX = Fix(
    title="TypeError: Trainer.__init__() got an unexpected keyword argument 'processing_class'",
    kind="crash",
    upstream=("transformers#32385",),
    fixed_in="4.46.1",
    errors=(
        "TypeError: Trainer.__init__() got an unexpected keyword argument 'processing_class'",
        "TypeError: Seq2SeqTrainer.__init__() got an unexpected keyword argument 'processing_class'",
    ),
    prefilter="compute_metrics",
)

BROKEN = ">=4.36.0,<=4.45.2"
REFUSED = ("TypeError: …got an unexpected keyword argument 'processing_class'",)
_GIVEN = "_was_given_processing_class"


@FIX.recognises
def knows_only_tokenizers(node: ast.AST) -> bool:
    """Whether it is the initializer of a Trainer without the argument."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return False
    names = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
    return {"tokenizer", "train_dataset", "compute_metrics"} <= names and "processing_class" not in names


@FIX.wraps(("transformers.trainer:Trainer.__init__", BROKEN), on_error=REFUSED)
def initialised(original: Callable[..., None]) -> Callable[..., None]:
    """Rename the argument, and have the attribute where it was given."""
    # No addition: later releases have it as an attribute of the instance, and no release as one of the class.
    cls = getattr(sys.modules.get(original.__module__), "Trainer", None)
    if original.__qualname__ == "Trainer.__init__" and cls is not None and not hasattr(cls, "processing_class"):
        restoring.put_in_class(cls, "processing_class", _Processing("processing_class", property(_tokenizer)))
        _with_it.append(cls)

    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        if "processing_class" in kwargs:
            given = kwargs.pop("processing_class")
            if kwargs.get("tokenizer") is not None:
                raise ValueError(
                    "You cannot specify both `tokenizer` and `processing_class`: the latter is the new name."
                )
            kwargs["tokenizer"] = given
            vars(self)[_GIVEN] = True
        original(self, *args, **kwargs)

    return initialise


@FIX.wraps(("transformers.trainer_seq2seq:Seq2SeqTrainer.__init__", BROKEN), on_error=REFUSED)
def initialised_seq2seq(original: Callable[..., None]) -> Callable[..., None]:
    """The same; the argument that it passes on has the old name."""
    return initialised(original)


def _tokenizer(trainer: Any) -> Any:
    """The tokenizer that a Trainer has now."""
    if trainer.tokenizer is None:
        raise AttributeError(f"{type(trainer).__name__!r} object has no attribute 'processing_class'")
    return trainer.tokenizer


class _Processing(restoring.Restored):
    """The attribute: no data descriptor, so that what a Trainer or a class of one has itself comes first."""

    def __get__(self, trainer: Any, owner: type) -> Any:
        """The tokenizer, for code that would crash without it or if the Trainer was given it under this name."""
        if trainer is not None and _GIVEN in vars(trainer) and trainer.tokenizer is not None:
            return trainer.tokenizer
        return self.answer(trainer, owner, sys._getframe(1))


@FIX.cleans_up
def take_away() -> None:
    """A Trainer has no such attribute again."""
    for cls in _with_it:
        if isinstance(vars(cls).get("processing_class"), _Processing):
            restoring.take_from_class(cls, "processing_class")
    _with_it.clear()


_with_it: list[Any] = []
