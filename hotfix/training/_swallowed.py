"""Shared by the fixes of models that swallow the number of labels: the matcher and the cure."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, Optional
from weakref import ref

from hotfix._support.memo import weakly
from hotfix.patching import code, scope
from hotfix.training import _passed_on, _scaling, _user_code
from hotfix.versions import source

# Names of functions that compute a mean over the labels, in the forward of a model. CTC is a sum by default.
_LOSSES = {
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "MSELoss",
    "cross_entropy",
    "loss_fct",
    "loss_function",
}
_DEPTH = 16  # frames between the question of the Trainer and the model: those of PEFT


def place(words: str) -> str:
    """A class in the file of a model, from the names of both: ``t5 T5ForConditionalGeneration``."""
    model, name = words.split()
    return f"transformers.models.{model}.modeling_{model}:{name}"


def swallows(definition: ast.AST) -> bool:
    """Whether a class takes the number of labels of a step, computes a loss, and does not normalize it by the number.

    The Trainer takes every class for one that does whose forward has ``**kwargs``, unless the class says otherwise.
    """
    if not isinstance(definition, ast.ClassDef) or any(
        _names(statement) == _ATTRIBUTE for statement in definition.body
    ):
        return False
    forwards = [
        statement
        for statement in definition.body
        if isinstance(statement, ast.FunctionDef) and statement.name == "forward"
    ]
    return bool(forwards) and _forward_swallows(forwards[-1])


def is_asked(trainer: ast.AST) -> bool:
    """Whether a constructor of the Trainer asks the model for the attribute."""
    return any(isinstance(node, ast.Constant) and node.value == _ATTRIBUTE for node in ast.walk(trainer))


def declared_mean(node: ast.AST) -> Optional[ast.FunctionDef]:
    """At the end of a constructor, have the class say to the Trainer that its loss is a mean over the micro-batch."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return None
    says = code.statements(f"from {__name__} import declare\ndeclare(__class__)", at=node.body[-1])
    return ast.FunctionDef(**{**dict(ast.iter_fields(node)), "body": [*node.body, *says]})


def declare(kind: Any) -> None:
    """Have the models of a class answer a Trainer which asks whether they take loss arguments."""
    if _ATTRIBUTE not in vars(kind):
        setattr(kind, _ATTRIBUTE, _Answer(kind))


def take_back() -> None:
    """Remove the answers of classes whose constructors do not declare them any more."""
    for answer in list(_answers):
        function = vars(answer.owner).get("__init__")
        if "declare" not in getattr(getattr(function, "__code__", None), "co_names", ()):
            _answers.discard(answer)
            if vars(answer.owner).get(_ATTRIBUTE) is answer:
                delattr(answer.owner, _ATTRIBUTE)


class _Answer:
    """An attribute of a model that is there for a Trainer whose loss the model computes, and absent for all others.

    An attribute that the user sets on a model or on a subclass takes precedence.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        _answers.add(self)

    def __get__(self, model: Any, kind: Any = None) -> _AcceptsTheNumber:
        trainer = None if model is None else _asking_trainer()
        if trainer is None or not _divides(trainer) or not _is_mean(self.owner, model, trainer):
            raise AttributeError(f"{(kind or type(model)).__name__!r} object has no attribute {_ATTRIBUTE!r}")
        return _AcceptsTheNumber(self.owner, model, trainer)


class _AcceptsTheNumber:
    """What the Trainer keeps of the answer: false in each step whose loss is a mean that nobody else divides.

    The program may add a work-around, or a loss of its own, after the constructor of the Trainer. Where the Trainer
    counts the labels, it is true: the program may use their number.
    """

    def __init__(self, owner: Any, model: Any, trainer: Any) -> None:
        self._owner, self._model, self._trainer = owner, ref(model), ref(trainer)

    def __bool__(self) -> bool:
        is_counting = sys._getframe(1).f_code.co_name in _COUNTING
        if is_counting and sys.modules["transformers"].__version__ != _DIVIDES_WITHOUT_NUMBER:
            return True
        model, trainer = self._model(), self._trainer()
        return model is not None and trainer is not None and not _is_mean(self._owner, model, trainer)

    def __eq__(self, other: object) -> bool:
        return bool(self) == other

    def __hash__(self) -> int:
        return hash(bool(self))

    def __repr__(self) -> str:
        return repr(bool(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return bool, (bool(self),)


def _divides(trainer: Any) -> bool:
    """Whether there is anything to divide by: several micro-batches or processes."""
    steps = getattr(getattr(trainer, "args", None), "gradient_accumulation_steps", 0)
    return bool(steps != 1 or getattr(trainer.args, "world_size", 0) != 1)


def _is_mean(owner: Any, model: Any, trainer: Any) -> bool:
    """Whether the loss of a step is the mean of the library's forward in `owner`, and no other code divides it."""
    try:
        return _is_left_undivided(owner, model, trainer)
    except Exception as error:  # such as of a descriptor in a user's class
        return scope.undecided(_ID, error)


def _is_left_undivided(owner: Any, model: Any, trainer: Any) -> bool:
    if getattr(trainer, "compute_loss_func", None) is not None:
        return False
    if _is_divided_by_accelerate(trainer):
        return scope.leave_alone(_ID, "Accelerate divides the loss in your program")
    forward = next((kind for kind in type(model).__mro__ if "forward" in vars(kind) and _is_of_library(kind)), None)
    return (
        forward is owner
        and _passed_on.is_library_path(_ID, model, "forward")
        and _passed_on.is_library_path(_ID, trainer, "compute_loss")
        and _passed_on.is_library_loss(_ID, model)
        and _passed_on.is_output_passed_on(_ID, model)
        and not _scaling.is_gradient_scaled(_ID, trainer)
    )


def _is_divided_by_accelerate(trainer: Any) -> bool:
    """Whether the program has given Accelerate the number of micro-batches, which the release does not."""
    gives_it = str(sys.modules["transformers"].__version__).startswith(_GIVE_ACCELERATE_THE_NUMBER)
    return not gives_it and getattr(trainer.accelerator, "gradient_accumulation_steps", 1) > 1


def divisor(trainer: Any, num_items_in_batch: Any) -> int:
    """The number by which the loss of a micro-batch has to be divided before the backward pass.

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
_ID = "ga-loss-kwargs-swallowed-vlm"
_COUNTING = ("get_batch_samples", "_get_num_items_in_batch")  # methods of the Trainer
_DIVIDES_WITHOUT_NUMBER = "4.48.0"  # its Trainer divides where there is no number; later ones ask the model again
_GIVE_ACCELERATE_THE_NUMBER = ("5.2.", "5.3.", "5.4.", "5.5.")
_WRAPPING = {"torch", "peft", "accelerate", "deepspeed", "hotfix"}  # packages with modules around a model
_answers: set[_Answer] = set()


def _is_of_library(kind: Any) -> bool:
    return scope.was_written_in("transformers", kind)


def _asking_trainer() -> Any:
    """The Trainer whose constructor asks, itself or through wrappers of a model; None if other code asks."""
    frame = sys._getframe(2)
    for _ in range(_DEPTH):
        name = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_name == "__init__" and name == "transformers.trainer":
            return frame.f_locals.get("self")
        is_looking = frame.f_code.co_name in ("__getattr__", "__getattribute__") and _hands_calls_on(frame)
        if frame.f_back is None or not (is_looking or name.partition(".")[0] in _WRAPPING):
            break
        frame = frame.f_back
    return None


def _hands_calls_on(frame: Any) -> bool:
    """Whether the wrapper in whose ``__getattr__`` a frame is calls the model with what it is called with itself."""
    wrapper = frame.f_locals.get(frame.f_code.co_varnames[0])
    function = _user_code.function_of(getattr(type(wrapper), "forward", None))
    if function is None or "forward" in getattr(wrapper, "__dict__", {}):
        return function is None
    if str(function.__module__).partition(".")[0] in _WRAPPING:
        return True
    definition = _user_code.definition_of(function.__code__)
    return definition is not None and _is_call_handed_on(definition)


def _is_call_handed_on(forward: ast.FunctionDef) -> bool:
    """Whether a forward has nothing but ``return self.….(*args, **kwargs)``, with both and no other parameters."""
    *before, last = forward.body[int(ast.get_docstring(forward) is not None) :] or forward.body
    call, given = getattr(last, "value", None), forward.args
    if not isinstance(last, ast.Return) or not isinstance(call, ast.Call) or not (given.vararg and given.kwarg):
        return False
    is_alone = (
        len(given.args) == 1 and not given.kwonlyargs and not before[int(ast.get_docstring(forward) is not None) :]
    )
    passed = [ast.unparse(part) for part in (*call.args, *(keyword.value for keyword in call.keywords))]
    return is_alone and passed == [f"*{given.vararg.arg}", given.kwarg.arg]


@weakly
def _class_swallows(model: type) -> bool:
    """As `swallows`, of a class that is loaded; a class without source counts as correct."""
    owner = next((kind for kind in model.__mro__ if "forward" in vars(kind)), model)
    try:
        text = textwrap.dedent(inspect.getsource(owner))
        return not hasattr(model, _ATTRIBUTE) and swallows(source.parse(text).body[0])
    except (OSError, TypeError, SyntaxError):
        return False


def _forward_swallows(forward: ast.FunctionDef) -> bool:
    arguments = forward.args
    if arguments.kwarg is None or "labels" not in [
        argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)
    ]:
        return False
    if any(_says_the_number(node) for node in ast.walk(forward)):
        return False
    losses = list(_calls_of_losses(forward))
    return bool(losses) and not any(
        isinstance(keyword.value, ast.Name) and keyword.value.id == arguments.kwarg.arg
        for loss in losses
        for keyword in loss.keywords
        if keyword.arg is None
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
    return "num_items_in_batch" in [word for word in said if isinstance(word, str)]


def _names(statement: ast.stmt) -> str:
    """The names to which a statement of a class body assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return " ".join(target.id for target in targets if isinstance(target, ast.Name))
