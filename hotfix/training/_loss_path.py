"""How was the loss of a micro-batch normalised: over itself, or over the whole step?

The Trainer divides a loss by the number of micro-batches, or leaves the division to code that knows the number of
labels in the step, to Accelerate or to DeepSpeed's engine. Where it is wrong about this, the correct divisor depends on
the loss, not on signatures. The autograd graph of a loss records its last division, the divisor and the reduction
before it. If the graph does not show them (a compiled model, a fused kernel), the participants decide, provided that
all of them are library code. A loss that neither explains is the user's own.
"""

from __future__ import annotations

import math
from typing import Any, Optional

from hotfix.patching import scope
from hotfix.training import _divided, _passed_on, _scaling, _swallowed

MEAN = "mean"  # over its own micro-batch: it has yet to be divided by the number of micro-batches
BY_NUMBER = "number"  # divided by the number of labels in the step
BY_STEPS = "steps"  # divided by the number of micro-batches
SUM = "sum"  # not divided at all
MIXED = "mixed"  # of losses some of which were divided, or with weights that may divide by anything
UNKNOWN = ""

_IS_NORMALISED = (BY_NUMBER, BY_STEPS)


def is_mean(fix: str, trainer: Any, loss: Any, number: Any) -> bool:
    """Whether a loss is a mean over its own micro-batch that nobody has divided by the number of micro-batches.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: of the step.
        loss: what its ``compute_loss`` has returned, a tensor without axes.
        number: of labels in the step, as the loss received it: an int, a tensor, or None.
    """
    try:
        is_plain = kind_of(fix, trainer, loss, number) == MEAN and not _scaling.is_gradient_scaled(fix, trainer)
        return is_plain and not _may_divide_within(fix, trainer)
    except Exception as error:  # such as of a form of autograd's nodes in another torch
        return scope.undecided(fix, error)


def is_normalised(fix: str, trainer: Any, loss: Any, number: Any, is_divided: bool) -> bool:
    """Whether a loss has been normalised over the whole step, so that nobody may divide it again.

    A sum counts, too, if there is a number of labels: the Trainer leaves the division to the code that computes the
    loss, and micro-batches add up to the batch.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: of the step.
        loss: before its backward pass, a tensor without axes.
        number: of labels in the step, as the loss received it: an int, a tensor, or None.
        is_divided: whether the Trainer itself has divided the loss by the number of micro-batches. Then the loss
            before that division decides: a mean that the program multiplied by their number must be divided twice.
    """
    try:
        return not _scaling.is_gradient_scaled(fix, trainer) and _is_normalised(fix, trainer, loss, number, is_divided)
    except Exception as error:  # see `is_mean`
        return scope.undecided(fix, error)


def _is_normalised(fix: str, trainer: Any, loss: Any, number: Any, is_divided: bool) -> bool:
    if is_divided:
        below = _below_the_division(trainer, loss)
        return below is not None and _kind_of_result(fix, trainer, below, number) == MEAN
    kind = kind_of(fix, trainer, loss, number)
    if number is not None and kind in (BY_NUMBER, SUM):
        return _is_as_counted(fix, trainer)
    return kind in _IS_NORMALISED


def kind_of(fix: str, trainer: Any, loss: Any, number: Any) -> str:
    """How a loss was normalised: one of the constants of this module; arguments as in `is_mean`."""
    if getattr(loss, "_backward_hooks", None):
        scope.leave_alone(fix, "the loss has a hook of your own")
        return UNKNOWN
    return _kind_of_result(fix, trainer, getattr(loss, "grad_fn", None), number)


def _kind_of_result(fix: str, trainer: Any, node: Any, number: Any) -> str:
    """As `kind_of`, for the autograd node of the loss that ``compute_loss`` has returned."""
    steps = _steps(trainer)
    if trainer.args.n_gpu > 1 and type(node).__name__.startswith("Mean"):  # of DataParallel's replicas
        node = node.next_functions[0][0]
    kind, scale = _kind_of_node(node, number, steps)
    if kind == MEAN and _has_neutral_factor(node) and not _passed_on.is_number_passed_on(fix, trainer, "compute_loss"):
        return UNKNOWN  # the micro-batch has all labels of the step: ``mean * (labels / num_items_in_batch)``
    if math.isnan(scale):
        kind = UNKNOWN
    if kind in (MEAN, SUM, BY_NUMBER) and scale == 1:
        return kind
    if kind == BY_NUMBER and not _undoes_a_division(trainer, scale, steps):  # such as by the number of processes
        return kind
    # The divisor may be another number that is equal by chance: of labels or rows in a micro-batch, of losses that are
    # averaged. A loss of the user's was divided by the number of micro-batches if its code shows this division.
    return _kind_by_participants(fix, trainer, number) or (
        kind if kind == BY_STEPS and _divides_by_steps(trainer) else UNKNOWN
    )


def backward(trainer: Any, loss: Any, number: Any, fix: str, **kwargs: Any) -> None:
    """`Accelerator.backward` without Accelerate's own division where the loss has been normalised over the step.

    Args:
        trainer: of the step; its Accelerator divides by the number of micro-batches.
        loss: of a micro-batch.
        number: of labels in the step.
        fix: id of the fix that asks.
        **kwargs: further arguments of `Accelerator.backward`.
    """
    accelerator = trainer.accelerator
    steps = accelerator.gradient_accumulation_steps
    is_counted = trainer.model_accepts_loss_kwargs and number is not None
    is_divided = not is_counted and trainer.compute_loss_func is None
    if (
        steps <= 1
        or accelerator.distributed_type == "DEEPSPEED"
        or not is_normalised(fix, trainer, loss, number, is_divided)
    ):
        accelerator.backward(loss, **kwargs)
        return
    accelerator.gradient_accumulation_steps = 1
    try:
        accelerator.backward(loss, **kwargs)
    finally:
        accelerator.gradient_accumulation_steps = steps


def micro_batches(trainer: Any) -> int:
    """How many micro-batches an optimizer step has; fewer than ``gradient_accumulation_steps`` in a short epoch."""
    steps = int(trainer.args.gradient_accumulation_steps)
    loader: Any = getattr(trainer.callback_handler, "train_dataloader", None)
    try:
        return min(steps, max(len(loader), 1))
    except TypeError:  # it has no length
        return steps


def is_librarys_smoother(fix: str, trainer: Any) -> bool:
    """Whether the label smoother of a Trainer has the library's class and formula."""
    smoother = trainer.label_smoother
    return scope.is_class_of(fix, smoother) and scope.is_own(fix, smoother, "__call__")


def model_of(trainer: Any) -> Any:
    """The model of a Trainer without the wrappers of Accelerate, PEFT and `torch.compile`."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    model = model.get_base_model() if hasattr(model, "get_base_model") else model
    return getattr(model, "_orig_mod", model)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the participants.


def _kind_by_participants(fix: str, trainer: Any, number: Any) -> str:
    """How the library's own code normalises the loss of a Trainer; unknown where code of the user's takes part."""
    if not _passed_on.is_library_path(fix, trainer, "compute_loss"):
        return UNKNOWN
    function = getattr(trainer, "compute_loss_func", None)
    if function is not None:
        scope.leave_alone(fix, "compute_loss_func is your own")
        return UNKNOWN
    if trainer.label_smoother is not None and number is not None:
        return MEAN if is_librarys_smoother(fix, trainer) else UNKNOWN
    model = model_of(trainer)
    kind: Any = type(model)
    hooks = [*getattr(model, "_forward_hooks", {}).values(), *getattr(model, "_forward_pre_hooks", {}).values()]
    if any(scope._reason(hook, "", "transformers") for hook in hooks):
        return UNKNOWN
    if not _passed_on.is_library_path(fix, model, "forward") or not _passed_on.is_library_loss(fix, model):
        return UNKNOWN
    takes = trainer.model_accepts_loss_kwargs and number is not None
    if not takes or _swallowed._class_swallows(kind):
        return MEAN
    return BY_NUMBER if _passed_on.is_number_passed_on(fix, trainer, "compute_loss") else UNKNOWN


def _is_as_counted(fix: str, trainer: Any) -> bool:
    """Whether the number of labels that the step has been given is that of the library's count."""
    counts = (name for name in ("get_batch_samples", "_get_num_items_in_batch") if hasattr(trainer, name))
    return all(_passed_on.is_number_as_counted(fix, trainer, name) for name in counts) and (
        _passed_on.is_number_passed_on(fix, trainer, "training_step")
    )


def _may_divide_within(fix: str, trainer: Any) -> bool:
    """Whether code of the user's that makes the loss has the number of micro-batches, below the mean as well."""
    model, steps = model_of(trainer), _steps(trainer)
    factors = {factor for step in steps if step > 1 for factor in (step, 1 / step)}
    of_the_loss = (trainer.compute_loss, trainer.compute_loss_func, getattr(model, "forward", None))
    for function in (*of_the_loss, _passed_on.loss_function_of(model)):
        if _scaling.scales_by(function, factors):
            scope.leave_alone(fix, f"{getattr(function, '__qualname__', 'the loss')} is your own, and may divide it")
            return True
    return False


def _divides_by_steps(trainer: Any) -> bool:
    """Whether code of the user's that makes the loss divides it by the number of micro-batches."""
    model = model_of(trainer)
    made_by = [
        *((trainer, vars(kind).get("compute_loss")) for kind in type(trainer).__mro__),
        (trainer, vars(trainer).get("compute_loss")),
        (trainer, getattr(trainer, "compute_loss_func", None)),
        (model, getattr(model, "forward", None)),
        (model, vars(model).get("_loss_function")),
    ]
    return any(_divided.divides_by_steps(function, owner) for owner, function in made_by)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the autograd graph.

_SAME = (
    "ToCopy",
    "Clone",
    "Squeeze",
    "View",
    "Reshape",
    "Neg",
    "Alias",
    "UnsafeView",
    "Contiguous",
    "_DDPSink",
    "Expand",
)
_REDUCED = ("NllLoss", "MseLoss", "BinaryCrossEntropy", "SmoothL1Loss", "HuberLoss", "SoftMargin", "MultiMargin")
_DEPTH = 24


def _steps(trainer: Any) -> tuple[int, ...]:
    """The numbers of micro-batches that somebody may have divided by."""
    steps = trainer.args.gradient_accumulation_steps
    return tuple({steps, getattr(trainer, "current_gradient_accumulation_steps", steps) or steps} - {1})


def _has_neutral_factor(node: Any) -> bool:
    """Whether a loss was at last multiplied or divided by a number that happens to be 1."""
    for _ in range(_DEPTH):
        name = type(node).__name__
        if name.startswith(("Div", "Mul")):
            constant, below = _constant_of(node)
            if constant is None or constant.dim() or constant.device.type != "cpu":
                return False
            if float(constant) == 1:
                return True
            node = below
        elif name.startswith(_SAME):
            node = node.next_functions[0][0]
        else:
            return False
    return False


def _below_the_division(trainer: Any, loss: Any) -> Any:
    """The autograd node of the loss before the Trainer divided it by the number of micro-batches, if it did."""
    node = getattr(loss, "grad_fn", None)
    if not type(node).__name__.startswith("Div"):
        return None
    constant, below = _constant_of(node)
    steps = trainer.args.gradient_accumulation_steps
    divisors = (steps, getattr(trainer, "current_gradient_accumulation_steps", steps))
    return below if constant is not None and _number_of(constant) in divisors else None


def _undoes_a_division(trainer: Any, scale: float, steps: tuple[int, ...]) -> bool:
    """Whether a loss was multiplied by the number of micro-batches, and perhaps by that of processes."""
    return any(scale in (step, step * trainer.accelerator.num_processes) for step in steps)


def _kind_of_node(node: Any, number: Any, steps: tuple[int, ...], depth: int = _DEPTH) -> tuple[str, float]:
    """How the result of an autograd node was normalised, and its other factor; NaN if unknown."""
    scale = 1.0
    is_divided = False
    for _ in range(depth):
        name = type(node).__name__
        if name.startswith(_SAME):
            node = node.next_functions[0][0]
        elif name.startswith(("Div", "Mul")):
            constant, below = _constant_of(node)
            if constant is None:
                return UNKNOWN, scale
            if _number_of(constant) == 1:  # a function that divides by a number only where there is one, or by its rows
                node, is_divided = below, True
                continue
            kind = _kind_of_constant(constant, name.startswith("Div"), number, steps)
            if kind:
                return kind, scale * _scale_of(below)
            if name.startswith("Div"):  # `torch.nanmean` divides what it has summed up
                return (MEAN if type(below).__name__.startswith("Nansum") else UNKNOWN), scale
            node, scale = below, scale * _factor_of(constant)
        elif name.startswith(("Add", "Sub")):
            if _repeats(node):
                return UNKNOWN, scale
            parts = [_kind_of_node(part, number, steps, depth // 2) for part, _ in node.next_functions if part]
            return _kind_of_parts(parts, scale)
        elif name.startswith("Mean"):
            return _kind_inside(node.next_functions[0][0], number, steps, of_mean=True) or MEAN, scale
        elif name.startswith("Sum"):
            kind = _kind_inside(node.next_functions[0][0], number, steps, of_mean=False)
            return kind or (UNKNOWN if is_divided else SUM), scale
        elif name.startswith(_REDUCED):
            kind = {1: MEAN, 2: SUM}.get(getattr(node, "_saved_reduction", 0), UNKNOWN)
            if _has_weights(node):
                return UNKNOWN, scale
            return UNKNOWN if kind == SUM and is_divided else kind, scale
        else:
            break
    return UNKNOWN, scale


def _repeats(node: Any) -> bool:
    """Whether a sum has a loss more than once: ``loss + loss`` is a product."""
    parts, todo = [], [node]
    while todo:
        node = _origin(todo.pop())
        if type(node).__name__.startswith(("Add", "Sub")):
            todo += [part for part, _ in node.next_functions if part]
        else:
            parts.append(node)
    return len({*map(id, parts)}) < len(parts)


def _origin(node: Any) -> Any:
    """The node below copies, views and constant factors."""
    while True:
        name = type(node).__name__
        if name.startswith(_SAME):
            node = node.next_functions[0][0]
        elif name.startswith(("Div", "Mul")) and _constant_of(node)[0] is not None:
            node = _constant_of(node)[1]
        else:
            return node


def _kind_of_parts(parts: list[tuple[str, float]], scale: float) -> tuple[str, float]:
    """Of a sum of losses: an additional loss, with a factor of its own, does not change what the loss is."""
    kinds = {kind for kind, _ in parts}
    main = {kind: factor for kind, factor in parts if factor == 1 or kind in _IS_NORMALISED}
    if kinds.isdisjoint(_IS_NORMALISED) and not kinds <= {MEAN, SUM}:
        return UNKNOWN, scale
    known = [(kind, factor) for kind, factor in main.items() if kind not in (MIXED, UNKNOWN)]
    if len(known) != 1:
        return UNKNOWN, scale
    kind, factor = known[0]
    return kind, scale * factor


def _scale_of(node: Any) -> float:
    """The factor of a numerator; NaN if it cannot be read."""
    scale = 1.0
    for _ in range(_DEPTH):
        name = type(node).__name__
        if name.startswith("Mul"):
            constant, below = _constant_of(node)
            if constant is None:
                break
            node, scale = below, scale * _factor_of(constant)
        elif name.startswith(_SAME):
            node = node.next_functions[0][0]
        else:
            break
    return scale


def _kind_inside(node: Any, number: Any, steps: tuple[int, ...], of_mean: bool) -> str:
    """What the elements of a mean or a sum are: `UNKNOWN` for labels of their own, `MIXED` if they may be anything."""
    for _ in range(_DEPTH):
        name = type(node).__name__
        if name.startswith(("Div", "Mul")):
            constant, below = _constant_of(node)
            kind = _kind_of_constant(constant, name.startswith("Div"), number, steps) if constant is not None else MIXED
            if kind:
                return kind
            factor = _number_of(constant)
            if factor != 1 and (not of_mean or factor is None or _is_of_steps(factor, steps)):
                return MIXED  # weights, which may add up to one, or divide by anything
            node = below
        elif name.startswith(("Expand", "Repeat")) and not of_mean:
            return MIXED
        elif name.startswith(("Stack", "Cat")):
            parts = [part for part, _ in node.next_functions if part]
            every = [_kind_of_node(part, number, steps) for part in parts]
            is_scaled = any(factor == 0 or _is_of_steps(factor, steps) for _, factor in every)
            kinds = {kind for kind, _ in every}
            if len(kinds) > 1 or is_scaled or len({id(_origin(part)) for part in parts}) < len(parts):
                return MIXED
            return kinds.pop() or MIXED
        elif name in ("SumBackward0", "MeanBackward0"):  # over all elements: one number is left
            return _kind_of_node(node, number, steps)[0] or MIXED
        elif name.startswith("Mean") and not of_mean:
            return MIXED
        elif name.startswith(_REDUCED) and getattr(node, "_saved_reduction", 0) != 0:
            return _kind_of_node(node, number, steps)[0] or MIXED
        elif name.startswith((*_SAME, "Permute", "Transpose", "Sum", "Mean", "Index", "Slice")):
            node = node.next_functions[0][0]
        else:
            return MIXED if _has_weights(node) else UNKNOWN
    return UNKNOWN


def _has_weights(node: Any) -> bool:
    """Whether a loss multiplies each element by a weight, and does not divide by the sum of the weights."""
    name = type(node).__name__
    return name.startswith("BinaryCrossEntropy") and getattr(node, "_saved_weight", None) is not None


def _constant_of(node: Any) -> tuple[Optional[Any], Any]:
    """The constant operand of a product or quotient, and the node of the other operand."""
    if len(node.next_functions) != 2:  # by a Python number, in C++
        return None, None
    (first, _), (second, _) = node.next_functions
    if second is None:
        return node._saved_other, first
    return (node._saved_self, second) if first is None and type(node).__name__.startswith("Mul") else (None, None)


def _kind_of_constant(constant: Any, divides: bool, number: Any, steps: tuple[int, ...]) -> str:
    if divides and constant is number:
        return BY_NUMBER
    value = _number_of(constant)
    if value is None:
        return UNKNOWN
    if divides and isinstance(number, (int, float)) and value == number:
        return BY_NUMBER
    return BY_STEPS if any(value == step if divides else value == 1 / step for step in steps) else UNKNOWN


def _is_of_steps(factor: float, steps: tuple[int, ...]) -> bool:
    """Whether a factor is the number of micro-batches or its inverse, or unknown."""
    return math.isnan(factor) or any(factor in (step, 1 / step) for step in steps)


def _factor_of(constant: Any) -> float:
    number = _number_of(constant)
    return float("nan") if number is None else number


def _number_of(constant: Any) -> Optional[float]:
    """The Python number that was saved as a tensor on the CPU; None for another device, which is not read."""
    if constant.dim() or constant.device.type != "cpu" or str(constant.dtype) not in ("torch.int64", "torch.float64"):
        return None
    return float(constant.item())
