"""What the fixes of the Trainer's old overrides share: how a method of a subclass wants to be called."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, Callable


def is_override(method: Any) -> bool:
    """Whether a bound method of a Trainer was not written in transformers."""
    return not str(getattr(method, "__module__", "")).startswith("transformers.")


def takes(method: Any, positional: int = 0, name: str = "") -> bool:
    """Whether a method can be called in a way.

    Args:
        method: bound.
        positional: with how many arguments without a name.
        name: and with which argument by name; empty for none.
    """
    try:
        parameters = list(_parameters(getattr(method, "__func__", method), hasattr(method, "__self__")))
    except (TypeError, ValueError):  # no signature can be told
        return True
    if name and not any(one.name == name or one.kind is one.VAR_KEYWORD for one in parameters):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    many = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    return many or sum(one.kind in kinds for one in parameters) >= positional


def with_as_many(method: Any, *arguments: Any) -> Any:
    """Call a method with the first of these arguments, as many as it takes."""
    number = len(arguments)
    while is_override(method) and number and not takes(method, positional=number):
        number -= 1
    return method(*arguments[:number])


def without_the_number(method: Any) -> bool:
    """Whether ``compute_loss`` or ``training_step`` of a subclass does not take the number of labels in a step."""
    return is_override(method) and not takes(method, name="num_items_in_batch")


def loss(trainer: Any) -> Callable[..., Any]:
    """What computes the loss of a batch with a Trainer, by the signature of its ``compute_loss``."""
    method = trainer.compute_loss
    return partial(_without, method) if without_the_number(method) and trainer.compute_loss_func is None else method


def step(trainer: Any) -> Callable[..., Any]:
    """What trains on a batch with a Trainer, by the signature of its ``training_step``.

    One that calls the backward pass itself divides by nothing, where the library of its time did it later: it is left
    as it is, and raises, unless there is one micro-batch a step.
    """
    method = trainer.training_step
    if not is_override(method) or takes(method, positional=3):
        return method  # type: ignore[no-any-return]
    if trainer.args.gradient_accumulation_steps > 1 and "backward" in _names(method):
        return method  # type: ignore[no-any-return]
    return lambda model, inputs, num_items_in_batch=None: method(model, inputs)


def batches(trainer: Any, *arguments: Any) -> Any:
    """The next batches of a Trainer and their labels.

    Args:
        trainer: its ``get_batch_samples`` may be that of TRL before 0.12, which generates texts with a model.
        arguments: iterator, number of batches, and device in 4.50.0 and later.
    """
    from transformers.trainer import Trainer  # by its own module: TRL and others put theirs in place of exported names

    method = trainer.get_batch_samples
    if is_override(method) and next(iter(_parameters(method.__func__, True))).name == "model":
        return Trainer.get_batch_samples(trainer, *arguments)
    return with_as_many(method, *arguments)


# ---------------------------------------------------------------------------------------------------------------------


def _without(method: Callable[..., Any], *args: Any, num_items_in_batch: Any = None, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


@cache
def _parameters(function: Any, bound: bool) -> tuple[inspect.Parameter, ...]:
    parameters = tuple(inspect.signature(function).parameters.values())
    return parameters[1:] if bound else parameters


def _names(method: Any) -> set[str]:
    """The names that a method and the functions in it use."""

    def of(code: types.CodeType) -> Iterator[str]:
        yield from code.co_names
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from of(constant)

    code = getattr(method, "__code__", None)
    return set(of(code)) if code is not None else set()
