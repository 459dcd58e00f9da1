"""What the fixes share that are about a model which swallows the number of labels: the matcher, the cure, the proof."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Callable, Optional

from hotfix.patching import code
from hotfix.training._steps import one_step
from hotfix.versions import source

if TYPE_CHECKING:
    import torch

# How what computes a mean over the labels is called, in the forward of a model. CTC is a sum, unless configured so.
_LOSSES = {
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "MSELoss",
    "cross_entropy",
    "loss_fct",
    "loss_function",
}

# A subclass with a forward of its own decides for itself, and so does a forward that somebody else has put in.
_IS_OWN = "type(self).forward is __class__.forward and __class__.forward.__module__ == __class__.__module__"


def swallows(definition: ast.AST) -> bool:
    """Whether a class takes the number of labels of a step, computes a loss, and does not normalise it by the number.

    The Trainer takes every class for one that does whose forward has ``**kwargs``, unless the class says otherwise.
    """
    if not isinstance(definition, ast.ClassDef) or any(_names(one) == _ATTRIBUTE for one in definition.body):
        return False
    forwards = [one for one in definition.body if isinstance(one, ast.FunctionDef) and one.name == "forward"]
    return bool(forwards) and _forward_swallows(forwards[-1])


def is_asked(trainer: ast.AST) -> bool:
    """Whether a constructor of the Trainer asks the model for the attribute."""
    return any(isinstance(node, ast.Constant) and node.value == _ATTRIBUTE for node in ast.walk(trainer))


def declared_mean(node: ast.AST) -> Optional[ast.FunctionDef]:
    """At the end of a constructor, say that the loss is a mean over the micro-batch."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return None
    says = code.statements(f"if {_IS_OWN}: self.{_ATTRIBUTE} = False", at=node.body[-1])
    return ast.FunctionDef(**{**dict(ast.iter_fields(node)), "body": [*node.body, *says]})


def compared(make_model: Callable[[], Any], samples: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Train for a step in micro-batches of one sample, and on all samples as one batch.

    Args:
        make_model: returns the same model at each call.
        samples: what `default_data_collator` takes; each has as many labels as the others.

    Returns:
        ``loss`` of the micro-batches as a multiple of that of the batch; ``gradients``: the length of all gradients
        together as such a multiple, and 1 more than the distance of both, as part of that length. So all are 1 where
        the Trainer is right, whatever a release calls its parameters.
    """
    import torch

    told = [
        one_step(make_model(), samples, prepare=_without_accelerate, **steps)
        for steps in ({"gradient_accumulation_steps": len(samples)}, {"per_device_train_batch_size": len(samples)})
    ]
    losses = [one.pop("loss").double() for one in told]
    micro, whole = (torch.cat([one[name].double().flatten() for name in sorted(one)]) for one in told)
    length = whole.norm()
    return {
        "loss": losses[0] / losses[1],
        "gradients": torch.stack([micro.norm() / length, 1 + (micro - whole).norm() / length]),
    }


def divisor(trainer: Any, num_items_in_batch: Any) -> int:
    """What the loss of a micro-batch has yet to be divided by before the backward pass.

    Args:
        trainer: a Trainer that leaves the division to a model which takes the number of labels.
        num_items_in_batch: that number, or None where the Trainer does not know it, and divides.

    Returns:
        The number of micro-batches where the model of the Trainer swallows the number, else 1.
    """
    left_to_the_model = trainer.model_accepts_loss_kwargs and trainer.compute_loss_func is None
    if not left_to_the_model or num_items_in_batch is None:
        return 1
    if trainer.accelerator.distributed_type == "DEEPSPEED":  # Accelerate leaves it to the engine
        return 1
    model = trainer.accelerator.unwrap_model(trainer.model)
    model = model.get_base_model() if hasattr(model, "get_base_model") else model  # PEFT
    model = getattr(model, "_orig_mod", model)  # torch.compile
    kind: Any = type(model)
    steps: int = trainer.args.gradient_accumulation_steps
    return steps if _class_swallows(kind) else 1


# ---------------------------------------------------------------------------------------------------------------------

_ATTRIBUTE = "accepts_loss_kwargs"


def _without_accelerate(trainer: Any) -> None:
    """In 5.2.0 to 5.5.3 Accelerate divides as well (v5-trainer-ga-double-division): here it does not."""
    trainer.accelerator.gradient_accumulation_steps = 1


@cache
def _class_swallows(model: type) -> bool:
    """As `swallows`, of a class that is loaded; one whose source cannot be read is given the benefit of the doubt."""
    owner = next((one for one in model.__mro__ if "forward" in vars(one)), model)
    try:
        text = textwrap.dedent(inspect.getsource(owner))
        return not hasattr(model, _ATTRIBUTE) and swallows(source.parse(text).body[0])
    except (OSError, TypeError, SyntaxError):
        return False


def _forward_swallows(forward: ast.FunctionDef) -> bool:
    arguments = forward.args
    if arguments.kwarg is None or "labels" not in [one.arg for one in (*arguments.args, *arguments.kwonlyargs)]:
        return False
    if any(_says_the_number(node) for node in ast.walk(forward)):
        return False
    losses = list(_calls_of_losses(forward))
    return bool(losses) and not any(
        isinstance(one.value, ast.Name) and one.value.id == arguments.kwarg.arg
        for loss in losses
        for one in loss.keywords
        if one.arg is None
    )


def _calls_of_losses(forward: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(forward):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in _LOSSES:
                yield node


def _says_the_number(node: ast.AST) -> bool:
    """Whether a node names ``num_items_in_batch``: as a variable, a keyword or a string."""
    said = [getattr(node, name, None) for name in ("id", "arg", "value")]
    return "num_items_in_batch" in [one for one in said if isinstance(one, str)]


def _names(statement: ast.stmt) -> str:
    """What a statement of a class body assigns to."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return " ".join(one.id for one in targets if isinstance(one, ast.Name))
