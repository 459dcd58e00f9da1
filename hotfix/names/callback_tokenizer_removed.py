"""Callbacks of the Trainer no longer get the tokenizer by its old name.

Symptom   ``AttributeError: 'CallbackHandler' object has no attribute 'tokenizer'`` from SetFit, small-text and other
          custom Trainers; ``TypeError: on_evaluate() missing 1 required positional argument: 'tokenizer'``.
Cause     Attribute and argument were renamed to ``processing_class``, without a translation of the old names.
Releases  4.46.1 and later
Upstream  setfit#574, small-text#80 (not put back)
Here      The attribute reads and sets ``processing_class``. A method of a callback gets it as ``tokenizer``, too, if
          it cannot be called without. A ``tokenizer=None`` of its own, and ``**kwargs``, stay as in the release.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from hotfix._support.memo import weakly
from hotfix.fix import Fix
from hotfix.names import overrides, parameters_adapted

FIX = Fix(
    title="AttributeError: 'CallbackHandler' object has no attribute 'tokenizer'",
    kind="removed-api",
    upstream=("setfit#574", "small-text#80"),
    group="removed-names",
    errors=(
        "AttributeError: 'CallbackHandler' object has no attribute 'tokenizer'",
        *(
            f"TypeError: {owner}on_{event}() missing 1 required positional argument: 'tokenizer'"
            for event in ("evaluate", "log", "save", "step_end", "epoch_end", "train_begin", "train_end")
            for owner in ("", "….")
        ),
    ),
)


@FIX.adds_made(("transformers.trainer_callback:CallbackHandler.tokenizer", ">=4.46.1"), of_instances=True)
def tokenizer(module: Any) -> property:
    """Another name of the processing class."""

    def read(self: Any) -> Any:
        """What encodes the data."""
        return self.processing_class

    def write(self: Any, value: Any) -> None:
        self.processing_class = value

    return property(read, write)


FIX.edits(
    ("transformers.trainer_callback:CallbackHandler.call_event", ">=4.46.1"),
    when=f"from {__name__} import lacks_one; lacks_one(self, event, kwargs)",
    old="""
        result = getattr(callback, event)(
            args,
            state,
            control,
            model=self.model,
            processing_class=self.processing_class,
            optimizer=self.optimizer,
            lr_scheduler=self.lr_scheduler,
            train_dataloader=self.train_dataloader,
            eval_dataloader=self.eval_dataloader,
            **kwargs,
        )
        """,
    new=f"""
        from {__name__} import by_both_names
        result = by_both_names(getattr(callback, event), self.processing_class)(
            args,
            state,
            control,
            model=self.model,
            processing_class=self.processing_class,
            optimizer=self.optimizer,
            lr_scheduler=self.lr_scheduler,
            train_dataloader=self.train_dataloader,
            eval_dataloader=self.eval_dataloader,
            **kwargs,
        )
        """,
)


def lacks_one(handler: Any, event: str, given: dict[str, Any]) -> bool:
    """Whether a callback cannot be called without a tokenizer, and the program would crash at that.

    Args:
        handler: with the callbacks.
        event: the name of their method.
        given: further arguments by name.
    """
    if "tokenizer" in given or not any(_needs_one(*_method_of(part, event)) for part in handler.callbacks):
        return False
    return overrides.would_end(TypeError)


def by_both_names(method: Any, value: Any) -> Callable[..., Any]:
    """The method of a callback, which gets a tokenizer if it needs one.

    Args:
        method: bound.
        value: the processing class.
    """
    function, is_bound = getattr(method, "__func__", method), hasattr(method, "__self__")
    return functools.partial(method, tokenizer=value) if _needs_one(function, is_bound) else method


def _method_of(callback: Any, event: str) -> tuple[Any, bool]:
    """The function behind a method, and whether it is bound. Nothing of the callback runs, and it may count calls."""
    if event in getattr(callback, "__dict__", {}):
        method = vars(callback)[event]
        return getattr(method, "__func__", method), hasattr(method, "__self__")
    method = next((vars(kind)[event] for kind in type(callback).__mro__ if event in vars(kind)), None)
    return getattr(method, "__func__", method), not isinstance(method, staticmethod)


def _needs_one(function: Any, is_bound: bool) -> bool:
    try:
        return _function_needs_one(function, is_bound)
    except (TypeError, ValueError):  # it is None, or has no signature
        return False


@weakly
def _function_needs_one(function: Any, bound: bool) -> bool:
    parameter = parameters_adapted._signature_of(function, bound).parameters.get("tokenizer")
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter is not None and parameter.kind in kinds and parameter.default is parameter.empty
