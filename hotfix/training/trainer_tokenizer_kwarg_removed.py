"""The Trainer does not take ``tokenizer=`` any more.

Symptom   ``TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'``, or ``AttributeError:
          'Trainer' object has no attribute 'tokenizer'``.
Cause     Argument and attribute were renamed to ``processing_class`` in 4.46.0, and the old names removed in 5.0.0.
Releases  5.0.0 and later
Upstream  trl#6168, FlagEmbedding#1592, ms-swift#6899 (not put back)
Here      Both mean what they meant in 4.57.6: the processing class. Both arguments at once are a ValueError, as there.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
    kind="removed-api",
    upstream=("trl#6168", "FlagEmbedding#1592", "ms-swift#6899"),
    group="removed-names",
    errors=(
        "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
        "TypeError: Seq2SeqTrainer.__init__() got an unexpected keyword argument 'tokenizer'",
        "AttributeError: '…Trainer' object has no attribute 'tokenizer'",
    ),
    on_error=("TypeError: …__init__() got an unexpected keyword argument 'tokenizer'",),
    prefilter="processing_class",
)


@FIX.wraps(
    ("transformers.trainer:Trainer.__init__", ">=5.0.0"),
    ("transformers.trainer_seq2seq:Seq2SeqTrainer.__init__", ">=5.0.0"),
)
def by_either_name(original: Callable[..., Any]) -> Callable[..., Any]:
    """A tokenizer is a processing class."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "tokenizer" in kwargs:
            if kwargs.get("processing_class") is not None:
                raise ValueError("tokenizer and processing_class are two names of one argument of the Trainer")
            kwargs["processing_class"] = kwargs.pop("tokenizer")
        original(self, *args, **kwargs)

    return init


@FIX.adds_made(("transformers.trainer:Trainer.tokenizer", ">=5.0.0"))
def tokenizer(trainer: Any) -> property:
    """Another name of the processing class."""

    def read(self: Any) -> Any:
        """The processing class."""
        return self.processing_class

    def write(self: Any, value: Any) -> None:
        self.processing_class = value

    return property(read, write)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """A constructor of a Trainer that knows the new name alone."""
    names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    decorated = any("tokenizer" in ast.unparse(decorator) for decorator in function.decorator_list)
    return {"processing_class", "train_dataset"} <= set(names) and "tokenizer" not in names and not decorated
