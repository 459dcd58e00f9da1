"""Does an override of a Trainer's or a model's method only pass on what the library's own method returns?

Frameworks override ``compute_loss`` and ``forward`` to keep metrics, and return the library's loss as it is. A repair
of the library's path holds for them as well. The source of each override is read once; an override without source
counts as the user's own.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Optional
from weakref import WeakKeyDictionary

from hotfix._support.memo import weakly
from hotfix.patching import hooks, scope
from hotfix.patching.scope import _reason
from hotfix.versions import source

_NUMBER = "num_items_in_batch"
_OF_STEPS = re.compile("accum|grad_acc", re.IGNORECASE)
_OF_GRADIENTS = re.compile("^grad$")
_OF_RATES = re.compile("(^|_)lrs?$|learning_rate")
_OF_HOOKS = re.compile("^register_(pre)?hook$")
_DIVISOR = "current_gradient_accumulation_steps"  # of the Trainer: the number of micro-batches in this step
_EXTENDING = ("cat", "concat", "concatenate", "hstack", "pad")
# Packages whose forward takes the place of the library's, and treats labels and number in the same way.
_LIKE_THE_LIBRARY = ("liger_kernel",)


def is_library_path(fix: str, owner: Any, name: str) -> bool:
    """Whether a method returns the result of the library's own method of this name.

    Args:
        fix: id of the fix that asks, for the report.
        owner: a Trainer or a model.
        name: of the method.

    Returns:
        True for the library's own method, and for overrides of which each path returns the result of ``super()``.
    """
    return _below_overrides(fix, owner, name, _returns_the_result)


def is_number_passed_on(fix: str, owner: Any, name: str) -> bool:
    """Whether a method uses the number of labels for nothing but the library's own method, or the model.

    Args:
        fix: id of the fix that asks, for the report.
        owner: a Trainer or a model.
        name: of the method.
    """
    return _below_overrides(fix, owner, name, _only_passes_the_number)


def _below_overrides(fix: str, owner: Any, name: str, passes: Any) -> bool:
    """Whether all overrides of a method pass something on, down to the library's own method."""
    if not _reason(owner, name, "transformers"):
        return True
    namespace = getattr(owner, "__dict__", {})
    holders = [namespace] if name in namespace else []
    for holder in (*holders, *(vars(kind) for kind in type(owner).__mro__)):
        if name not in holder:
            continue
        function = _function(holder[name])
        package = str(getattr(function, "__module__", "")).partition(".")[0]
        if any(map(_is_scaling, _decorators(holder[name]))):
            return scope.leave_alone(fix, f"a decorator of {function.__qualname__} is your own")
        if package in _LIKE_THE_LIBRARY or not _reason(function, "", "transformers"):
            return True
        if not isinstance(function, types.FunctionType) or not passes(function, name, owner):
            return scope.leave_alone(fix, f"{getattr(function, '__qualname__', type(owner).__name__)} is your own")
    return True


def _decorators(method: Any) -> Iterator[Any]:
    """The functions around the innermost one."""
    function = getattr(method, "__func__", method)
    while hasattr(function, "__wrapped__"):
        yield function
        function = function.__wrapped__


def _is_scaling(decorator: Any) -> bool:
    """Whether a decorator is of the user's, and may multiply or divide what it returns."""
    return type(decorator) is types.FunctionType and _is_yours(decorator) and _multiplies(decorator.__code__)


def is_given_the_number(fix: str, model: Any) -> bool:
    """Whether the forward of a model knows the number of labels: the library's does, and one that names it."""
    if is_library_path(fix, model, "forward"):
        return True
    code = getattr(_function(getattr(model, "forward", None)), "__code__", None)
    if code is None:
        return False
    return _NUMBER in (*code.co_varnames, *code.co_consts) or "loss_function" in code.co_names


def is_library_loss(fix: str, model: Any) -> bool:
    """Whether the ``loss_function`` of a model is the library's."""
    function = loss_function_of(model)
    package = str(getattr(_function(function), "__module__", "")).partition(".")[0]
    return package in _LIKE_THE_LIBRARY or scope.is_own(fix, function)


def loss_function_of(model: Any) -> Any:
    """The ``loss_function`` of a model, or None. The library's property is not read: it warns of unknown models."""
    declared = inspect.getattr_static(model, "loss_function", None)
    losses = sys.modules.get("transformers.loss.loss_utils")
    if losses is None or not isinstance(declared, property) or _reason(declared.fget, "", "transformers"):
        return getattr(model, "loss_function", None)
    given = getattr(model, "_loss_function", None)
    return given if given is not None else losses.LOSS_MAPPING.get(loss_type_of(model), losses.ForCausalLMLoss)


def loss_type_of(model: Any) -> Optional[str]:
    """The name under which the library knows the loss of a model; None where it is not known by its name."""
    losses = sys.modules["transformers.loss.loss_utils"]
    library = [kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("transformers.")]
    name = next(iter(library), type(model).__name__)
    declared = getattr(model, "loss_type", None) or getattr(getattr(model, "config", None), "loss_type", None)
    kind = declared if isinstance(declared, str) else name
    known = [kind] if kind in losses.LOSS_MAPPING else re.findall("|".join(losses.LOSS_MAPPING), kind)
    return known[0] if known else None


def is_number_named(function: Any) -> bool:
    """Whether a function of the user's names the number of labels, as an argument or as a text."""
    code = getattr(_function(function), "__code__", None)
    return code is not None and _NUMBER in (*code.co_varnames, *code.co_consts)


def is_output_passed_on(fix: str, model: Any) -> bool:
    """Whether the hooks of a model change neither its arguments nor its output."""
    changing = [
        hook
        for kind in ("_forward_hooks", "_forward_pre_hooks")
        for hook in (getattr(model, kind, None) or {}).values()
        if _reason(hook, "", "transformers") and not _only_reads(hook)
    ]
    return not changing or scope.leave_alone(fix, f"{_name_of(changing[0])}, a hook of the model, is your own")


def is_gradient_scaled(fix: str, trainer: Any) -> bool:
    """Whether code of the user's changes gradients by the number of micro-batches, or that number itself.

    Such code is a callback, a method of the Trainer or of its Accelerator, or a hook of an optimizer, a parameter, a
    loss, or the backward pass of a module.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: with its callbacks, its optimizer and its model, as far as it has them yet.
    """
    handler, optimizer = getattr(trainer, "callback_handler", None), getattr(trainer, "optimizer", None)
    of_callbacks = (
        getattr(callback, event, None)
        for callback in getattr(handler, "callbacks", ())
        for event in ("on_pre_optimizer_step", "on_substep_end")
    )
    of_trainer = (getattr(trainer, name, None) for name in ("training_step", "optimizer_step"))
    for owner in (trainer, *getattr(handler, "callbacks", ())):
        kinds = [kind for kind in type(owner).__mro__ if not kind.__module__.startswith("transformers.")]
        if any(map(_changes_steps, kinds)) or any(map(_scales_by_steps, _functions_in(owner))):
            return not scope.leave_alone(fix, f"{type(owner).__qualname__} is your own, and sets {_DIVISOR}")
    model = getattr(trainer, "model", None)
    of_loss = (getattr(trainer, "compute_loss", None), getattr(trainer, "compute_loss_func", None))
    of_model = [
        getattr(module, "forward", None)
        for module in getattr(model, "modules", tuple)()
        if "forward" in getattr(module, "__dict__", {}) or _may_add_hooks(type(module))
    ]
    for function in (*of_loss, *of_model):
        if _is_yours(function) and says(function, _OF_HOOKS) and (says(function, _OF_STEPS) or _scales(function)):
            return _changes_gradients(fix, function)
    inner = getattr(optimizer, "optimizer", optimizer)  # below Accelerate's wrapper
    step, steps = (
        getattr(inner, "step", None),
        getattr(getattr(trainer, "args", None), "gradient_accumulation_steps", 1),
    )
    if steps > 1 and _is_yours(step) and says(step, _OF_GRADIENTS):
        codes = list(_codes(step))
        held = _numbers_in(getattr(inner, "param_groups", ()), {text for code in codes for text in _texts_of(code)})
        if any(map(_multiplies, codes)) and any(number in (steps, 1 / steps) for number in held):
            return _changes_gradients(fix, step)
    of_all: Any = getattr(sys.modules.get("torch.optim.optimizer"), "_global_optimizer_pre_hooks", None)
    before_steps = [*(getattr(inner, "_optimizer_step_pre_hooks", None) or {}).values(), *(of_all or {}).values()]
    of_optimizer = [getattr(inner, "step", None), *before_steps]
    accelerator = getattr(trainer, "accelerator", None)
    of_accelerator = (getattr(accelerator, name, None) for name in ("backward", "clip_grad_norm_"))
    for function in (*of_callbacks, *of_trainer, *of_optimizer):
        if _is_yours(function) and says(function, _OF_GRADIENTS) and (says(function, _OF_STEPS) or _scales(function)):
            return _changes_gradients(fix, function)
    events = ("on_train_begin", "on_epoch_begin", "on_step_begin")
    for function in (
        getattr(callback, event, None) for callback in getattr(handler, "callbacks", ()) for event in events
    ):
        if _is_yours(function) and says(function, _OF_STEPS) and says(function, _OF_RATES):  # lr * accumulation
            return _changes_gradients(fix, function)
    for function in of_accelerator:
        if _is_yours(function) and (says(function, _OF_STEPS) or _scales(function)):
            return _changes_gradients(fix, function)
    for function in (getattr(trainer, name, None) for name in ("create_optimizer", "create_scheduler")):  # of the rate
        if _is_yours(function) and (says(function, _OF_STEPS) or (says(function, _OF_GRADIENTS) and _scales(function))):
            return _changes_gradients(fix, function)
    for hook in _hooks_of_gradients(model):
        if _is_product(hook) or (_reason(hook, "", "transformers") and (says(hook, _OF_STEPS) or _scales(hook))):
            scope.leave_alone(fix, f"{_name_of(hook)}, a hook of gradients, is your own")
            return True
    return False


@weakly  # there may be thousands of modules in each micro-batch
def _may_add_hooks(kind: type) -> bool:
    """Whether the forward of a module is the user's, and adds hooks."""
    forward = getattr(kind, "forward", None)
    return _is_yours(forward) and says(forward, _OF_HOOKS)


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
            if says(hook, _OF_HOOKS):  # it adds a hook to its output
                yield hook


_OF_THE_LOOP = ("__init__", "_inner_training_loop", "_run_epoch")
"""Methods in which a copy of the library's code sets the number."""


@weakly
def _changes_steps(kind: type) -> bool:
    """Whether a class sets the number by which the Trainer divides a loss, or has hooks that scale."""
    functions = (function for name, function in vars(kind).items() if name not in _OF_THE_LOOP)
    return _DIVISOR in vars(kind) or any(_scales_by_steps(_function(each)) for each in functions if callable(each))


def _functions_in(owner: Any) -> Iterator[Any]:
    """The functions that were put on an object."""
    kinds = (types.FunctionType, types.MethodType)
    return (_function(value) for value in getattr(owner, "__dict__", {}).values() if isinstance(value, kinds))


@weakly
def _scales_by_steps(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and (_sets_the_divisor(code) or (says(function, _OF_HOOKS) and _scales(function)))


def _sets_the_divisor(code: types.CodeType) -> bool:
    is_stored = any(each.opname == "STORE_ATTR" and each.argval == _DIVISOR for each in dis.get_instructions(code))
    texts = [each for const in code.co_consts for each in (const if isinstance(const, tuple) else (const,))]
    by_name = _DIVISOR in texts and not {"setattr", "update", "__dict__", "vars"}.isdisjoint(code.co_names)
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return is_stored or by_name or any(map(_sets_the_divisor, inner))


def _is_yours(function: Any) -> bool:
    return function is not None and bool(_reason(function, "", "transformers"))


def _changes_gradients(fix: str, function: Any) -> bool:
    return not scope.leave_alone(fix, f"{_name_of(function)} is your own, and changes gradients")


def _name_of(function: Any) -> str:
    return str(getattr(_function(function), "__qualname__", type(function).__name__))


def gives(function: Any, name: str) -> bool:
    """Whether a function of the user's passes a keyword argument of this name, and does not move labels itself."""
    if function is None or not _reason(function, "", "transformers") or moves_labels(function):
        return False
    return name in _words_given(_function(function))


@weakly
def _words_given(function: Any) -> frozenset[str]:
    """The texts in a function, among them the names of keyword arguments in its calls."""
    constants = [constant for code in _codes(function) for constant in code.co_consts]
    parts = (part for constant in constants for part in (constant if isinstance(constant, tuple) else (constant,)))
    return frozenset(part for part in parts if isinstance(part, str))


def moves_labels(function: Any) -> bool:
    """Whether a function of the user's moves labels by one: it has ``labels[..., 1:]``, and cuts predictions as well.

    Labels alone are also cut for other purposes, such as a weight for each change of the label.
    """
    code = getattr(_function(function), "__code__", None)
    return code is not None and _code_moves_labels(code)


def may_move_labels(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's, or one that it calls, leaves out the first label: ``labels[..., 1:]``.

    Functions of the library are not looked into; `owner` has the methods that may be called.
    """
    return _of_the_program(function, type(owner), _moves)


_answers: WeakKeyDictionary[Any, WeakKeyDictionary[type, dict[Any, bool]]] = WeakKeyDictionary()


def _of_the_program(function: Any, kind: type, test: Any) -> bool:
    """The answer of a test for a function; False for one of the library. The Trainer asks for each micro-batch.

    The answer is kept as long as the function and the class: they may hold a model, which is freed with them.
    """
    if function is None or not _reason(function, "", "transformers"):
        return False
    inner = _function(function)
    if not isinstance(inner, types.FunctionType):
        return bool(test(inner, kind))
    known = _answers.setdefault(inner, WeakKeyDictionary()).setdefault(kind, {})
    if test not in known:
        known[test] = test(inner, kind)
    return known[test]


def _moves(function: Any, kind: type) -> bool:
    return any(_code_leaves_out_the_first(code) for code in _codes(function, kind))


@functools.cache
def _code_leaves_out_the_first(code: types.CodeType) -> bool:
    definition = _definition(code)
    return definition is not None and any(map(_leaves_out_the_first, ast.walk(definition)))


@functools.cache
def _code_moves_labels(code: types.CodeType) -> bool:
    definition = _definition(code)
    cuts = definition is not None and any(map(_leaves_out_the_last, ast.walk(definition)))
    return cuts and _code_leaves_out_the_first(code)


def may_extend_labels(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's, or one that it calls, puts labels together with others: ``cat([…, labels])``.

    Args:
        function: such as the forward of a model that puts a prompt of its own in front of each text. Functions of the
            library are not looked into.
        owner: has the methods that it may call.
    """
    return _of_the_program(function, type(owner), _extends)


def replaces_labels(function: Any, owner: Any) -> bool:
    """Whether a function of the user's gives a model other labels than it got, or embeddings that it has made.

    Args:
        function: a forward that calls ``super()``, or a method of the Trainer that calls the model.
        owner: of the function.
    """
    return _of_the_program(function, type(owner), _replaces)


def may_adjust_the_number(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's, or one that it calls, adds to the number it divides by, or subtracts from it.

    Args:
        function: such as a loss that makes up for a label that is counted and never predicted. Functions of the library
            are not looked into.
        owner: has the methods that it may call.
    """
    return _of_the_program(function, type(owner), _adjusts)


def is_number_as_counted(fix: str, trainer: Any, name: str) -> bool:
    """Whether an override of the method that counts labels returns the number of the library's own method unchanged.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: of the step.
        name: of the method.
    """
    return _below_overrides(fix, trainer, name, _returns_the_number)


def says(function: Any, pattern: re.Pattern[str]) -> bool:
    """Whether a function, or one that it calls, has a name or a text in which a pattern is found.

    Functions within it are looked into, those that it holds, and those of its own module.
    """
    inner = _function(function)
    return _says(inner, pattern) if isinstance(inner, types.FunctionType) else _finds(inner, pattern)


@weakly  # the Trainer asks for each micro-batch
def _says(function: Any, pattern: re.Pattern[str]) -> bool:
    return _finds(function, pattern)


def _finds(function: Any, pattern: re.Pattern[str]) -> bool:
    return any(
        isinstance(word, str) and pattern.search(word)
        for code in _codes(function)
        for word in (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_consts)
    )


def _scales(function: Any) -> bool:
    """Whether a function of the user's, or one that it calls, multiplies or divides by a number that it was given.

    The number is a constant, a variable of its module or of the function around it, or an attribute of its object; a
    mask is none.
    """
    codes = list(_codes(function))
    if any(map(_doubles, codes)):
        return True
    return any(map(_multiplies, codes)) and any(map(_is_factor, _numbers_of(function, codes)))


def scales_by(function: Any, factors: Collection[float]) -> bool:
    """Whether a function of the user's, or one that it calls, multiplies or divides by one of these numbers.

    It may also have a variable or an attribute that is named after accumulation, or add something to itself.

    Args:
        function: the function, or an object that is called.
        factors: the numbers.
    """
    package = str(getattr(_function(function), "__module__", "")).partition(".")[0]
    if package in _LIKE_THE_LIBRARY or not _is_yours(function):
        return False
    codes = list(_codes(function))
    if any(map(_doubles, codes)):
        return True
    return any(map(_multiplies, codes)) and (
        says(function, _OF_STEPS) or any(number in factors for number in _numbers_of(function, codes))
    )


def _numbers_of(function: Any, codes: Sequence[types.CodeType]) -> Iterator[float]:
    """The numbers that a function can reach by a name or a key in its code."""
    inner: Any = _function(function)
    while isinstance(inner, functools.partial):
        yield from _numbers_in((*inner.args, *inner.keywords.values()), ())
        inner = _function(inner.func)
    words = {word for code in codes for word in _texts_of(code)}
    held = [constant for code in codes for constant in code.co_consts]
    owner = getattr(function, "__self__", None)
    if not isinstance(inner, types.FunctionType):  # an object with a `__call__`
        owner, inner = inner, _function(inspect.getattr_static(type(inner), "__call__", None))
    if isinstance(inner, types.FunctionType):
        held += [*(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]
        held += [cell.cell_contents for cell in inner.__closure__ or () if _is_full(cell)]
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


_OF_SCALING = frozenset(
    {
        *("mul", "mul_", "multiply", "multiply_", "div", "div_", "divide", "divide_", "true_divide", "true_divide_"),
        *("_foreach_mul", "_foreach_mul_", "_foreach_div", "_foreach_div_"),
    }
)


@functools.cache
def _multiplies(code: types.CodeType) -> bool:
    """Whether code has a product or a quotient."""
    operators = (each.argrepr if each.opname == "BINARY_OP" else each.opname for each in dis.get_instructions(code))
    return not _OF_SCALING.isdisjoint(code.co_names) or any(
        operator.rstrip("=") in ("*", "/") or operator.endswith(("_MULTIPLY", "_TRUE_DIVIDE")) for operator in operators
    )


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


def _codes(function: Any, kind: Optional[type] = None) -> Iterator[types.CodeType]:
    """The code of a function, of those within it, those that it holds, those of its module, and methods of `kind`."""
    functions, seen = [_function(function)], set()
    while functions:
        target: Any = functions.pop()
        while isinstance(target, functools.partial):
            target = _function(target.func)
        target = (
            target if isinstance(target, types.FunctionType) else inspect.getattr_static(type(target), "__call__", None)
        )
        code = getattr(target, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        held = [cell.cell_contents for cell in target.__closure__ or () if _is_full(cell)]
        codes = [code]
        for inner_code in codes:
            yield inner_code
            codes += [inner for inner in inner_code.co_consts if isinstance(inner, types.CodeType)]
            held += [target.__globals__.get(name) for name in inner_code.co_names]
            if kind is not None:
                methods = (inspect.getattr_static(kind, name, None) for name in inner_code.co_names)
                held += [method for method in map(_function, methods) if isinstance(method, types.FunctionType)]
        here = target.__globals__.get("__name__")
        functions += [
            _function(function) for function in held if getattr(_function(function), "__module__", None) == here
        ]


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def names(function: Any, name: str) -> bool:
    """Whether a function uses an attribute or a global variable of this name."""
    return name in getattr(getattr(_function(function), "__code__", None), "co_names", ())


# ---------------------------------------------------------------------------------------------------------------------


def _function(method: Any) -> Any:
    return inspect.unwrap(getattr(method, "__func__", method)) if method is not None else None


def _leaves_out_the_first(node: ast.AST) -> bool:
    if not isinstance(node, ast.Subscript):
        return False
    last = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not isinstance(last, ast.Slice) or not isinstance(last.lower, ast.Constant) or last.lower.value != 1:
        return False
    return _names_labels(node.value)


def _leaves_out_the_last(node: ast.AST) -> bool:
    """Whether a node cuts predictions, ``logits[..., :-1, :]``, or has put a label that is ignored behind the last."""
    if isinstance(node, ast.Call) and _called_name(node) == "pad":
        return any(ast.unparse(argument) in ("(0, 1)", "[0, 1]") for argument in node.args)
    if not isinstance(node, ast.Subscript) or _names_labels(node.value):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) and part.upper and ast.unparse(part.upper) == "-1" for part in parts)


def _names_labels(node: ast.AST) -> bool:
    return any(word in ast.unparse(node) for word in ("label", "target"))


def _adjusts(function: Any, kind: type) -> bool:
    return any(_adjusts_a_sum(definition) for definition in filter(None, map(_definition, _codes(function, kind))))


def _adjusts_a_sum(definition: ast.FunctionDef) -> bool:
    """Whether a definition divides by a sum or a difference, or computes one with the number of labels."""
    nodes = list(ast.walk(definition))
    sums = [node for node in nodes if isinstance(node, (ast.BinOp, ast.AugAssign)) and _is_sum(node)]
    if any(_NUMBER in ast.unparse(node) for node in sums):
        return True
    inside = {id(node) for node in sums}
    divisors = [node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    names = {node.id for divisor in divisors for node in ast.walk(divisor) if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") in names for target in node.targets):
            divisors.append(node.value)
        elif isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") in names and id(node) in inside:
            return True
    return any(id(part) in inside for divisor in divisors for part in ast.walk(divisor))


def _is_sum(node: Any) -> bool:
    """Whether a node adds or subtracts something other than a constant, such as the small number in front of a zero."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return isinstance(node.op, (ast.Add, ast.Sub)) and not any(isinstance(part, ast.Constant) for part in parts)


def _extends(function: Any, kind: type) -> bool:
    definitions = filter(None, map(_definition, _codes(function, kind)))
    return any(_extends_labels(node) for definition in definitions for node in ast.walk(definition))


def _extends_labels(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return _called_name(node) in _EXTENDING and _names_labels(node)


def _replaces(function: Any, kind: type) -> bool:
    definition = _definition(function.__code__) if isinstance(function, types.FunctionType) else None
    return definition is not None and any(_gives_others(node, definition) for node in ast.walk(definition))


_OF_A_TEXT = ("labels", "inputs_embeds")


def _gives_others(node: ast.AST, definition: ast.FunctionDef) -> bool:
    """Whether a node gives labels or embeddings to a model, or puts them into its inputs, and has made them itself."""
    given: list[tuple[Any, ast.AST]] = []
    if isinstance(node, ast.Call) and _called_name(node) in (definition.name, "model", "update"):
        given += [(keyword.arg, keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Dict):
        given += [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values)]
    elif isinstance(node, ast.Assign):
        keys = [getattr(target.slice, "value", None) for target in node.targets if isinstance(target, ast.Subscript)]
        given += [(key, node.value) for key in keys]
    return any(name in _OF_A_TEXT and not _is_as_given(value, name, definition) for name, value in given)


def _is_as_given(value: ast.AST, name: str, definition: ast.FunctionDef) -> bool:
    """Whether a value is None, an argument that is never assigned to, or was only taken out of the inputs."""
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, ast.Name):
        stored = [node for node in ast.walk(definition) if getattr(node, "id", "") == value.id]
        assigned = [node for node in ast.walk(definition) if isinstance(node, ast.Assign)]
        simple = [node.value for node in assigned if any(target in stored for target in node.targets)]
        count = sum(isinstance(getattr(node, "ctx", None), ast.Store) for node in stored)
        return count == len(simple) and all(_is_taken_out(each, name) for each in simple)
    return _is_taken_out(value, name)


def _is_taken_out(value: ast.AST, name: str) -> bool:
    """Whether a value is ``inputs["labels"]``, or the same by ``get`` or ``pop``."""
    if isinstance(value, ast.Subscript):
        return getattr(value.slice, "value", None) == name
    first = value.args[0] if isinstance(value, ast.Call) and value.args else None
    return _called_name(value) in ("get", "pop") and getattr(first, "value", None) == name


def _called_name(node: ast.AST) -> str:
    called = getattr(node, "func", None)
    return str(getattr(called, "attr", getattr(called, "id", "")))


def _returns_the_number(function: types.FunctionType, name: str, owner: Any) -> bool:
    return _code_returns_the_number(function.__code__, name)


@functools.cache
def _code_returns_the_number(code: types.CodeType, name: str) -> bool:
    """Whether a method returns what ``super()`` does, or its parts under the names that they were given, in order."""
    definition = _definition(code)
    if definition is None:
        return False
    calls = [node.func for node in ast.walk(definition) if isinstance(node, ast.Call)]
    if not any(isinstance(called, ast.Attribute) and called.attr == name for called in calls):
        return True  # it does something else under this name, and somebody else has called the library's method
    parts = {
        ast.unparse(target)
        for node in ast.walk(definition)
        if isinstance(node, ast.Assign) and _is_super(node.value, name)
        for target in node.targets
    }
    names = {part.strip() for whole in parts for part in whole.strip("()").split(",")}
    stored = [
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names
    ]
    returned = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)]
    return (
        bool(returned)
        and len(stored) == len(set(stored))
        and all(_is_super(value, name) or (value is not None and ast.unparse(value) in parts) for value in returned)
    )


def _only_reads(hook: Any) -> bool:
    """Whether a hook returns nothing, writes into nothing that it was given, and adds no hook to a gradient."""
    function = _function(hook)
    if not isinstance(function, types.FunctionType) or "register_hook" in function.__code__.co_names:
        return False
    return hooks.only_reads(function.__code__)


def _returns_the_result(function: types.FunctionType, name: str, owner: Any) -> bool:
    definition = _definition(function.__code__)
    results = None if definition is None else _kept_results(definition, name)
    if definition is None or results is None:
        return False
    returned = [node.value for node in _reached(definition.body, definition, owner) if isinstance(node, ast.Return)]
    return bool(returned) and all(_is_result(value, results, name) for value in returned)


def _only_passes_the_number(function: types.FunctionType, name: str, owner: Any) -> bool:
    return _code_only_passes_the_number(function.__code__, name)


@functools.cache
def _code_only_passes_the_number(code: types.CodeType, name: str) -> bool:
    definition = _definition(code)
    if definition is None:
        return False
    calls = [node for node in ast.walk(definition) if isinstance(node, ast.Call)]
    passed = [
        value
        for call in calls
        if _is_super(call, name) or _is_call_of_the_loss(call, name) or getattr(call.func, "id", "") == "model"
        for value in (*call.args, *(keyword.value for keyword in call.keywords))
    ]
    if name == "training_step":  # whether there is a number decides who divides by what
        compared = [node for node in ast.walk(definition) if isinstance(node, ast.Compare)]
        passed += [node.left for node in compared if _asks_for_none(node)]
    extra = definition.args.kwarg.arg if definition.args.kwarg else ""
    read = [
        node
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in (_NUMBER, extra)
    ]
    return all(any(node is value for value in passed) for node in read) and not any(
        isinstance(node, ast.Constant) and node.value == _NUMBER for node in ast.walk(definition)
    )


@functools.cache
def _definition(code: types.CodeType) -> Optional[ast.FunctionDef]:
    """The definition that a code object was compiled from, or None where its source cannot be read."""
    try:
        tree = source.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)


def _is_super(node: Any, name: str) -> bool:
    """Whether a node calls the method of this name of ``super()``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != name:
        return False
    above = node.func.value
    return isinstance(above, ast.Call) and getattr(above.func, "id", "") == "super"


def _is_call_of_the_loss(call: ast.Call, name: str) -> bool:
    """Whether a ``training_step`` calls ``compute_loss``, which is judged by itself."""
    return name == "training_step" and getattr(call.func, "attr", "") == "compute_loss"


def _asks_for_none(node: ast.Compare) -> bool:
    return all(getattr(value, "value", 0) is None for value in node.comparators)


@functools.cache
def _kept_results(definition: ast.FunctionDef, name: str) -> Optional[frozenset[str]]:
    """The variables with the results of ``super()``; None if one of them is changed."""
    results = frozenset(_results(definition, name))
    is_changed = any(_changes(node, results, name) for node in ast.walk(definition))
    return None if is_changed else results


def _results(definition: ast.FunctionDef, name: str) -> Iterator[str]:
    """The local variables that hold the loss of ``super()``, or all that it returned."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and _is_super(node.value, name):
            for target in node.targets:
                first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
                if isinstance(first, ast.Name):
                    yield first.id


def _changes(node: ast.AST, results: frozenset[str], name: str) -> bool:
    """Whether a node binds one of these variables to something else, or changes in place what it holds."""
    if isinstance(node, ast.Assign):
        return not _is_super(node.value, name) and any(
            isinstance(part, ast.Name) and part.id in results for target in node.targets for part in ast.walk(target)
        )
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
        return any(isinstance(part, ast.Name) and part.id in results for part in ast.walk(node.target))
    if isinstance(node, ast.Attribute):  # ``loss.div_(…)``, ``loss.register_hook(…)``, or ``outputs.loss = …``
        in_place = node.attr.endswith("_") or node.attr == "register_hook" or not isinstance(node.ctx, ast.Load)
        return in_place and getattr(node.value, "id", None) in results
    if isinstance(node, ast.Call) and not _is_known_to_read(node.func):
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        return any(isinstance(part, ast.Name) and part.id in results for part in given)
    return False


_READING = frozenset(
    {
        *(
            "append",
            "float",
            "format",
            "gather",
            "gather_for_metrics",
            "getattr",
            "hasattr",
            "info",
            "int",
            "isinstance",
        ),
        *("len", "log", "log_metrics", "print", "repr", "str", "tuple", "type", "warning"),
    }
)


def _is_known_to_read(function: ast.expr) -> bool:
    """Whether a function that is called only reads its arguments, by its name: ``float``, ``metrics.append``."""
    name = getattr(function, "attr", getattr(function, "id", ""))
    of_torch = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "torch"
    return name in _READING or (of_torch and not name.endswith("_"))


def _is_result(value: Any, results: frozenset[str], name: str) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_result(value.body, results, name) and _is_result(value.orelse, results, name)
    if isinstance(value, ast.Tuple) and value.elts:
        value = value.elts[0]
    return _is_super(value, name) or getattr(value, "id", None) in results


def _reached(body: list[ast.stmt], definition: ast.FunctionDef, owner: Any) -> Iterator[ast.stmt]:
    """The statements of a body, without branches that an attribute of ``self`` rules out."""
    first = definition.args.args[0].arg if definition.args.args else ""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            continue
        outcome = _truth(statement.test, first, owner) if isinstance(statement, ast.If) else None
        for field, taken in (("body", outcome is not False), ("orelse", outcome is not True), ("finalbody", True)):
            if taken:
                yield from _reached(getattr(statement, field, []), definition, owner)
        for handler in getattr(statement, "handlers", []):
            yield from _reached(handler.body, definition, owner)


def _truth(test: ast.expr, first: str, owner: Any) -> Optional[bool]:
    """Whether ``self.args.something`` holds; None for other expressions, and for what a method sets later."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, first, owner)
        return None if inner is None else not inner
    names = []
    while isinstance(test, ast.Attribute):
        names.append(test.attr)
        test = test.value
    if not names or getattr(test, "id", None) != first:
        return None
    holder, value = None, owner
    for name in reversed(names):
        holder, value = value, _held_as(value, name)
    if not isinstance(value, (bool, int, float, str, type(None))) or _is_set_later(type(holder), names[0]):
        return None
    return bool(value)


def _held_as(owner: Any, name: str) -> Any:
    """The attribute of an object or its class, without descriptors; `Ellipsis` for none."""
    return getattr(owner, "__dict__", {}).get(name, inspect.getattr_static(type(owner), name, ...))


@weakly
def _is_set_later(kind: type, name: str) -> bool:
    """Whether a method of a class, other than a constructor, sets an attribute: such as ``training`` of a module."""
    held = (value for each in kind.__mro__ for value in vars(each).values() if isinstance(value, types.FunctionType))
    codes = (_function(function).__code__ for function in held if function.__name__ not in _CONSTRUCTORS)
    return any(
        step.opname == "STORE_ATTR" and step.argval == name
        for code in codes
        if name in code.co_names
        for step in dis.get_instructions(code)
    )


_CONSTRUCTORS = ("__init__", "__post_init__")
