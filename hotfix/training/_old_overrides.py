"""Shared by the fixes of old overrides of the Trainer: how a method of a subclass can be called."""

from __future__ import annotations

import dis
import inspect
import types
from functools import partial, partialmethod
from typing import Any, Callable

from hotfix._support.memo import weakly
from hotfix.patching import elsewhere, restoring, scope
from hotfix.patching.decorated import is_from_a_library, passes_everything_on

_METHODS = (types.FunctionType, types.MethodType, staticmethod, classmethod, partial, partialmethod)


def method_of(trainer: Any, name: str) -> Any:
    """A bound method of a Trainer; None where reading it would run code, such as that of a property."""
    raw = inspect.getattr_static(trainer, name, None)
    return getattr(trainer, name) if isinstance(raw, _METHODS) else None


def is_override(method: Any) -> bool:
    """Whether a bound method of a Trainer was not written in transformers; None counts as the library's."""
    return method is not None and not scope.was_written_in("transformers", method)


def takes(method: Any, positional: int = 0, name: str = "") -> bool:
    """Whether a method can be called in a way.

    Args:
        method: bound.
        positional: with how many arguments without a name.
        name: and with which argument by name; empty for none.
    """
    try:
        parameters = list(_parameters_of(method))
    except (TypeError, ValueError):  # it has no signature
        return True
    if name and not any(parameter.name == name or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    many = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    return many or sum(parameter.kind in kinds for parameter in parameters) >= positional


def needs(method: Any, name: str) -> bool:
    """Whether a method has a parameter of this name, and does not test whether it is None.

    Args:
        method: bound.
        name: of the parameter.
    """
    try:
        parameter = next((parameter for parameter in _parameters_of(method) if parameter.name == name), None)
    except (TypeError, ValueError):  # it has no signature
        return False
    if parameter is None or parameter.kind in _ANY_NUMBER or parameter.default not in (parameter.empty, None):
        return False
    return parameter.default is parameter.empty or not _is_tested(inspect.unwrap(method).__code__, name)


def _is_tested(code: types.CodeType, name: str) -> bool:
    """Whether a function branches on a variable, or compares it with None: ``if x is None``, ``x or y``."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "TO_BOOL", "COPY", "NOP")]
    for step, after, last in zip(steps, steps[1:], steps[2:]):
        if "LOAD_" in step.opname and step.argval == name:
            if "JUMP" in after.opname or after.opname == "UNARY_NOT":
                return True
            if after.opname == "LOAD_CONST" and after.argval is None and last.opname in ("IS_OP", "COMPARE_OP"):
                return True
    return False


def lacks(trainer: Any, name: str, positional: int) -> bool:
    """Whether a method of a subclass raises a TypeError where it is called with so many arguments without a name."""
    method = method_of(trainer, name)
    return is_override(method) and not takes(method, positional=positional)


def number_of_arguments(trainer: Any, name: str) -> int:
    """How many arguments without a name an override takes; 0 for the library's method, and for one that takes any."""
    method = method_of(trainer, name)
    try:
        parameters = _parameters_of(method) if is_override(method) else ()
    except (TypeError, ValueError):  # it has no signature
        return 0
    return 0 if any(parameter.kind in _ANY_NUMBER for parameter in parameters) else len(parameters)


def is_used_otherwise(fix: str, trainer: Any, name: str) -> bool:
    """Whether code of the program's uses a method that the release does not call, or code of its own that it calls.

    It may do so in its place.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: the Trainer; other methods of its class, and its callbacks, are read.
        name: of the method.
    """
    return elsewhere.is_done_elsewhere(fix, trainer, name, trainer.callback_handler.callbacks)


def revived(fix: str, trainer: Any, name: str, *args: Any, **kwargs: Any) -> bool:
    """Call an override that the release does not call; False if it raises an error: the release does without it.

    Args:
        fix: id of the fix that calls it, for the report.
        trainer: the Trainer.
        name: of the method.
        args: of the call.
        kwargs: of the call.
    """
    try:
        with restoring.granting(f"transformers.trainer:Trainer.{name}"):
            getattr(trainer, name)(*args, **kwargs)
    except Exception as error:
        scope.leave_alone(fix, f"your {type(trainer).__name__}.{name} raises {type(error).__name__}: {error}")
        return False
    return True


def number_of_parameters(method: Any) -> int:
    """How many parameters the function of a class takes, without ``self``."""
    return len(_parameters(method, True))


def ends(fix: str) -> bool:
    """Whether a TypeError ends the program; False if the program handles it, around `train` or in a method of its own.

    Args:
        fix: id of the fix that asks.
    """
    return not scope.is_handled_around(fix, TypeError)


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
    """A function for the loss of a batch, of a Trainer whose ``compute_loss`` does not take the number of labels.

    It is a mean over the micro-batch: from now on the Trainer divides by the micro-batches.
    """
    trainer.model_accepts_loss_kwargs = False
    return partial(_without, trainer.compute_loss)


def step(trainer: Any) -> Callable[..., Any]:
    """A function that trains on a batch, of a Trainer whose ``training_step`` does not take the number of labels.

    An override that calls the backward pass itself relies on Accelerate's division by the micro-batches, which the
    library of its time left to it (`is_old_step`).
    """
    method = trainer.training_step
    if trainer.compute_loss_func is None:
        trainer.model_accepts_loss_kwargs = False
    if not _makes_gradients(method):
        return lambda model, inputs, num_items_in_batch=None: method(model, inputs)

    def train(model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        accelerator = trainer.accelerator
        before = accelerator.gradient_accumulation_steps
        accelerator.gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
        try:
            return method(model, inputs)
        finally:
            accelerator.gradient_accumulation_steps = before

    return train


def is_old_step(trainer: Any) -> bool:
    """Whether the ``training_step`` of a Trainer takes no number of labels and can be called without; see `step`.

    It cannot where it makes gradients itself or leaves that to the library, which divides by the micro-batches itself.
    """
    method = method_of(trainer, "training_step")
    if not lacks(trainer, "training_step", positional=3):
        return False
    return not (_makes_gradients(method) and "training_step" in elsewhere.names_in(method)) or (
        trainer.args.gradient_accumulation_steps == 1
    )


def _makes_gradients(method: Any) -> bool:
    return "backward" in elsewhere.names_in(method)


def is_old_loss(trainer: Any) -> bool:
    """Whether the ``compute_loss`` of a Trainer takes no number of labels, and nothing else computes its loss."""
    return without_the_number(method_of(trainer, "compute_loss")) and trainer.compute_loss_func is None


def fetches_no_batches(trainer: Any) -> bool:
    """Whether the ``get_batch_samples`` of a Trainer cannot be called as the library calls it.

    It takes fewer arguments, or it is that of TRL before 0.12: its first argument is a model, which generates.
    """
    from transformers.trainer import Trainer

    method = method_of(trainer, "get_batch_samples")
    if not is_override(method):
        return False
    try:
        first = next(iter(_parameters_of(method)), None)
    except (TypeError, ValueError):
        return False
    generates = first is not None and first.name == "model" and "generate" in elsewhere.names_in(method)
    return generates or not takes(method, positional=len(_parameters(Trainer.get_batch_samples, True)))


def batches(trainer: Any, *arguments: Any) -> Any:
    """The next batches of a Trainer and their labels.

    Args:
        trainer: its ``get_batch_samples`` may be that of TRL before 0.12, which generates texts with a model.
        arguments: iterator, number of batches, and device in 4.50.0 and later.
    """
    from transformers.trainer import Trainer  # by its own module: TRL and others put theirs in place of exported names

    method = trainer.get_batch_samples
    if next(iter(_parameters_of(method))).name == "model":
        return Trainer.get_batch_samples(trainer, *arguments)
    return with_as_many(method, *arguments)


# ---------------------------------------------------------------------------------------------------------------------


def _without(method: Callable[..., Any], /, *args: Any, num_items_in_batch: Any = None, **kwargs: Any) -> Any:
    return method(*args, **kwargs)


def _parameters_of(method: Any) -> tuple[inspect.Parameter, ...]:
    """Of a method, or of a function that was put on the instance, without ``self``.

    Raises:
        TypeError: it is another callable, such as a decorator's object.
    """
    function = method.__func__ if type(method) is types.MethodType else method
    if type(function) not in (types.FunctionType, partial):
        raise TypeError(f"{type(function).__name__} may do anything with its arguments")
    return _parameters(function, type(method) is types.MethodType)


_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@weakly
def _parameters(function: Any, bound: bool) -> tuple[inspect.Parameter, ...]:
    while hasattr(function, "__wrapped__") and (is_from_a_library(function) or passes_everything_on(function)):
        function = function.__wrapped__
    parameters = tuple(_signature(function).parameters.values())
    return parameters[1:] if bound and parameters and parameters[0].kind not in _ANY_NUMBER else parameters


def _signature(function: Any) -> inspect.Signature:
    """The signature of a function itself: a decorator may declare another one in ``__signature__``."""
    if isinstance(function, types.FunctionType) and not is_from_a_library(function):
        bare = types.FunctionType(function.__code__, {}, argdefs=function.__defaults__, closure=function.__closure__)
        bare.__kwdefaults__ = function.__kwdefaults__
        return inspect.signature(bare)
    return inspect.signature(function, follow_wrapped=False)
