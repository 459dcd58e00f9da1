"""Does code of the program scale gradients, or a loss, by the number of micro-batches?"""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from hotfix._support.memo import weakly
from hotfix.patching import scope
from hotfix.training import _user_code

OF_STEPS = re.compile("accum|grad_acc", re.IGNORECASE)
_OF_GRADIENTS = re.compile("^grad$")
_OF_RATES = re.compile("(^|_)lrs?$|learning_rate")
_OF_HOOKS = re.compile("^register_(pre)?hook$")
_DIVISOR = "current_gradient_accumulation_steps"  # of the Trainer: the number of micro-batches in this step
_OF_THE_LOOP = ("__init__", "_inner_training_loop", "_run_epoch")
"""Methods in which a copy of the library's code sets the number."""
_OF_SCALING = frozenset(
    """
    mul mul_ multiply multiply_ div div_ divide divide_ true_divide true_divide_
    _foreach_mul _foreach_mul_ _foreach_div _foreach_div_
    """.split()
)


def is_gradient_scaled(fix: str, trainer: Any) -> bool:
    """Whether user code changes gradients by the number of micro-batches, or that number itself.

    Such code is a callback, a method of the Trainer or of its Accelerator, or a hook of an optimizer, a parameter, a
    loss, or the backward pass of a module.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: with its callbacks, its optimizer and its model, as far as it has them yet.
    """
    callbacks = tuple(getattr(getattr(trainer, "callback_handler", None), "callbacks", ()))
    for owner in (trainer, *callbacks):
        kinds = [kind for kind in type(owner).__mro__ if not scope.was_written_in("transformers", kind)]
        if any(map(_changes_steps, kinds)) or any(map(_scales_by_steps, _functions_in(owner))):
            return not scope.leave_alone(fix, f"{type(owner).__qualname__} is your own, and sets {_DIVISOR}")
    for function, scales in _suspects(trainer, callbacks):
        if _user_code.is_yours(function) and scales(function):
            return not scope.leave_alone(fix, f"{_user_code.name_of(function)} is your own, and changes gradients")
    for hook in _hooks_of_gradients(getattr(trainer, "model", None)):
        if _is_product(hook) or (_user_code.is_yours(hook) and _scales_or_names_steps(hook)):
            name = _user_code.name_of(hook)
            return not scope.leave_alone(fix, f"{name}, a hook of gradients, is your own")
    return False


def _suspects(trainer: Any, callbacks: Collection[Any]) -> Iterator[tuple[Any, Callable[[Any], bool]]]:
    """The functions in which programs scale gradients or learning rates, each with its test."""
    optimizer = getattr(trainer, "optimizer", None)
    inner = getattr(optimizer, "optimizer", optimizer)  # below Accelerate's wrapper
    for function in (
        getattr(trainer, "compute_loss", None),
        getattr(trainer, "compute_loss_func", None),
        *_forwards_with_hooks(getattr(trainer, "model", None)),
    ):
        yield function, _adds_scaling_hooks
    steps = getattr(getattr(trainer, "args", None), "gradient_accumulation_steps", 1)
    yield getattr(inner, "step", None), functools.partial(_scales_by_held_steps, inner, steps)
    of_all: Any = getattr(sys.modules.get("torch.optim.optimizer"), "_global_optimizer_pre_hooks", None)
    for function in (
        *_methods(callbacks, "on_pre_optimizer_step", "on_substep_end"),
        *_methods([trainer], "training_step", "optimizer_step"),
        getattr(inner, "step", None),
        *(getattr(inner, "_optimizer_step_pre_hooks", None) or {}).values(),
        *(of_all or {}).values(),
    ):
        yield function, _scales_gradients
    for function in _methods(callbacks, "on_train_begin", "on_epoch_begin", "on_step_begin"):
        yield function, _names_steps_and_rates
    for function in _methods([getattr(trainer, "accelerator", None)], "backward", "clip_grad_norm_"):
        yield function, _scales_or_names_steps
    for function in _methods([trainer], "create_optimizer", "create_scheduler"):
        yield function, _scales_gradients_or_names_steps


def _methods(owners: Iterable[Any], *names: str) -> Iterator[Any]:
    return (getattr(owner, name, None) for owner in owners for name in names)


def _forwards_with_hooks(model: Any) -> Iterator[Any]:
    """The forward of each module of a model that is the user's, and may add hooks."""
    for module in getattr(model, "modules", tuple)():
        if "forward" in getattr(module, "__dict__", {}) or _may_add_hooks(type(module)):
            yield getattr(module, "forward", None)


def _adds_scaling_hooks(function: Any) -> bool:
    return _user_code.says(function, _OF_HOOKS) and _scales_or_names_steps(function)


def _scales_or_names_steps(function: Any) -> bool:
    return _user_code.says(function, OF_STEPS) or _scales(function)


def _scales_gradients(function: Any) -> bool:
    return _user_code.says(function, _OF_GRADIENTS) and _scales_or_names_steps(function)


def _scales_gradients_or_names_steps(function: Any) -> bool:
    return _user_code.says(function, OF_STEPS) or _scales_gradients(function)


def _names_steps_and_rates(function: Any) -> bool:
    """Whether a function names the number of micro-batches and a learning rate: it multiplies the rate."""
    return _user_code.says(function, OF_STEPS) and _user_code.says(function, _OF_RATES)


def _scales_by_held_steps(optimizer: Any, steps: int, step: Any) -> bool:
    """Whether the step of an optimizer multiplies gradients by a number in its groups that is the micro-batches'."""
    if steps <= 1 or not _user_code.says(step, _OF_GRADIENTS):
        return False
    codes = list(_user_code.codes_of(step))
    words = {text for code in codes for text in _texts_of(code)}
    held = _numbers_in(getattr(optimizer, "param_groups", ()), words)
    return any(map(multiplies, codes)) and any(number in (steps, 1 / steps) for number in held)


def scales_by(function: Any, factors: Collection[float]) -> bool:
    """Whether a function of the user's, or one that it calls, multiplies or divides by one of these numbers.

    It may also have a variable or an attribute that is named after accumulation, or add something to itself.

    Args:
        function: the function, or an object that is called.
        factors: the numbers.
    """
    package = str(getattr(_user_code.function_of(function), "__module__", "")).partition(".")[0]
    if package in _user_code.LIKE_THE_LIBRARY or not _user_code.is_yours(function):
        return False
    codes = list(_user_code.codes_of(function))
    if any(map(_doubles, codes)):
        return True
    return any(map(multiplies, codes)) and (
        _user_code.says(function, OF_STEPS) or any(number in factors for number in _numbers_of(function, codes))
    )


@functools.cache
def multiplies(code: types.CodeType) -> bool:
    """Whether code has a product or a quotient."""
    operators = (each.argrepr if each.opname == "BINARY_OP" else each.opname for each in dis.get_instructions(code))
    return not _OF_SCALING.isdisjoint(code.co_names) or any(
        operator.rstrip("=") in ("*", "/") or operator.endswith(("_MULTIPLY", "_TRUE_DIVIDE")) for operator in operators
    )


@weakly  # there may be thousands of modules in each micro-batch
def _may_add_hooks(kind: type) -> bool:
    """Whether the forward of a module is the user's, and adds hooks."""
    forward = getattr(kind, "forward", None)
    return _user_code.is_yours(forward) and _user_code.says(forward, _OF_HOOKS)


def _hooks_of_gradients(model: Any) -> Iterator[Any]:
    """The hooks of torch that get the gradients of a model."""
    for parameter in getattr(model, "parameters", tuple)():
        for kind in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            yield from (getattr(parameter, kind, None) or {}).values()
    holders = [(module, "") for module in getattr(model, "modules", tuple)()]
    holders.append((sys.modules.get("torch.nn.modules.module"), "_global"))
    for holder, prefix in holders:
        for kind in ("_backward_hooks", "_backward_pre_hooks"):
            yield from (getattr(holder, f"{prefix}{kind}", None) or {}).values()
        for hook in (getattr(holder, f"{prefix}_forward_hooks", None) or {}).values():
            if _user_code.says(hook, _OF_HOOKS):  # it adds a hook to its output
                yield hook


@weakly
def _changes_steps(kind: type) -> bool:
    """Whether a class sets the number by which the Trainer divides a loss, or has hooks that scale."""
    functions = (function for name, function in vars(kind).items() if name not in _OF_THE_LOOP)
    return _DIVISOR in vars(kind) or any(
        _scales_by_steps(_user_code.function_of(each)) for each in functions if callable(each)
    )


def _functions_in(owner: Any) -> Iterator[Any]:
    """The functions that were put on an object."""
    kinds = (types.FunctionType, types.MethodType)
    return (
        _user_code.function_of(value) for value in getattr(owner, "__dict__", {}).values() if isinstance(value, kinds)
    )


@weakly
def _scales_by_steps(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and (
        _sets_the_divisor(code) or (_user_code.says(function, _OF_HOOKS) and _scales(function))
    )


def _sets_the_divisor(code: types.CodeType) -> bool:
    is_stored = any(each.opname == "STORE_ATTR" and each.argval == _DIVISOR for each in dis.get_instructions(code))
    texts = [each for const in code.co_consts for each in (const if isinstance(const, tuple) else (const,))]
    by_name = _DIVISOR in texts and not {"setattr", "update", "__dict__", "vars"}.isdisjoint(code.co_names)
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return is_stored or by_name or any(map(_sets_the_divisor, inner))


def _scales(function: Any) -> bool:
    """Whether a function of the user's, or one that it calls, multiplies or divides by a number that it was given.

    The number is a constant, a variable of its module or of the function around it, or an attribute of its object; a
    mask is none.
    """
    codes = list(_user_code.codes_of(function))
    if any(map(_doubles, codes)):
        return True
    return any(map(multiplies, codes)) and any(map(_is_factor, _numbers_of(function, codes)))


def _numbers_of(function: Any, codes: Sequence[types.CodeType]) -> Iterator[float]:
    """The numbers that a function can reach by a name or a key in its code."""
    words = {word for code in codes for word in _texts_of(code)}
    held = [constant for code in codes for constant in code.co_consts]
    owner = getattr(function, "__self__", None)
    for layer in _user_code.layers_of(function):
        inner: Any = layer
        while isinstance(inner, functools.partial):
            yield from _numbers_in((*inner.args, *inner.keywords.values()), ())
            inner = _user_code.function_of(inner.func)
        if not isinstance(inner, types.FunctionType):  # an object with a `__call__`
            owner, inner = inner, _user_code.function_of(inspect.getattr_static(type(inner), "__call__", None))
        if isinstance(inner, types.FunctionType):
            held += [*(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]
            held += [cell.cell_contents for cell in inner.__closure__ or () if _user_code.is_full(cell)]
            held += [inner.__globals__[word] for word in words if word in inner.__globals__]
    if owner is not None:
        held.append(owner)
    yield from _numbers_in(held, words)


def _texts_of(code: types.CodeType) -> list[str]:
    """The names of attributes and variables of the module, and the texts, in a function."""
    return [word for word in (*code.co_names, *code.co_consts) if isinstance(word, str)]


def _numbers_in(held: Iterable[Any], words: Collection[str]) -> Iterator[float]:
    """The numbers among values, and in their items and attributes of these names."""
    for value in held:
        if type(value) in (int, float):
            yield value
        elif _is_number_on_the_cpu(value):
            yield float(value)
        elif isinstance(value, dict):
            yield from (value[word] for word in words if type(value.get(word)) in (int, float))
        elif not isinstance(value, (types.ModuleType, types.FunctionType, types.CodeType)):
            space = getattr(value, "__dict__", {})
            yield from _numbers_in([space[word] for word in words if word in space], ())


def _is_number_on_the_cpu(value: Any) -> bool:
    """Whether a value is a tensor of one number that can be read without waiting for a device."""
    return getattr(value, "device", None) is not None and value.device.type == "cpu" and value.numel() == 1


def _is_product(hook: Any) -> bool:
    """Whether a hook is a product or quotient of torch, with its other factor: ``partial(torch.mul, other=4)``."""
    return getattr(getattr(hook, "func", hook), "__name__", "") in _OF_SCALING


@functools.cache
def _doubles(code: types.CodeType) -> bool:
    """Whether code adds a variable to itself."""
    loads: list[Any] = []
    for each in dis.get_instructions(code):
        if (each.argrepr == "+" or each.opname == "BINARY_ADD") and len(loads) > 1 and loads[-1] == loads[-2]:
            return True
        names = each.argval if isinstance(each.argval, tuple) else (each.argval,)  # two at once from 3.13 on
        loads = [*loads, *names] if each.opname.startswith("LOAD_FAST") else []
    return False


def _is_factor(value: Any) -> bool:
    return type(value) in (int, float) and value not in (0, 1, -1)
