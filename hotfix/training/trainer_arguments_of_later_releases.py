"""An override written for a later release passes its arguments to the Trainer, which does not know them yet.

Symptom   ``TypeError: Trainer.compute_loss() got an unexpected keyword argument 'num_items_in_batch'``,
          ``Trainer.training_step() takes 3 positional arguments but 4 were given``, ``Trainer.log() takes 2 positional
          arguments but 3 were given``, from a call of ``super()``.
Cause     The arguments are those of later releases: the number of labels of 4.46, the start of training of 4.47, the
          data set of a sampler of 4.52, the model of an optimizer of 5.3.
Releases  4.36.0 to 5.2.0, depending on the method
Upstream  the arguments are new
Here      Such an argument is left out where the release does by itself what it asks for: the number is None, the data
          set or the model is the Trainer's own, and no tokens are counted whose rate would need the start. Otherwise
          the error stays, and a program that handles it gets it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

_TRAINER = "transformers.trainer:Trainer"
_LATER: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "compute_loss": ("num_items_in_batch", ("self", "model", "inputs", "return_outputs"), "<4.46.0"),
    "training_step": ("num_items_in_batch", ("self", "model", "inputs"), "<4.46.0"),
    "log": ("start_time", ("self", "logs"), "<4.47.0"),
    "_get_train_sampler": ("train_dataset", ("self",), "<4.52.0"),
    "create_optimizer": ("model", ("self",), "<5.3.0"),
}
"""Of each method: the later argument, which comes last, the arguments of these releases, and the releases."""


def _errors(name: str) -> tuple[str, str]:
    argument, known, _ = _LATER[name]
    least = len(known) - (name == "compute_loss")  # `return_outputs` can be left out
    takes = f"from {least} to {len(known)}" if least < len(known) else str(least)
    plural = "s" if len(known) > 1 else ""
    return (
        f"TypeError: …{name}() got an unexpected keyword argument '{argument}'",
        f"TypeError: …{name}() takes {takes} positional argument{plural} but {len(known) + 1} were given",
    )


FIX = Fix(
    title="TypeError: Trainer.compute_loss() takes from 3 to 4 positional arguments but 5 were given",
    kind="removed-api",
    group="removed-names",
    errors=("TypeError: Trainer.compute_loss() takes from 3 to 4 positional arguments but 5 were given",),
    exempt={"transformers.trainer_tf:TFTrainer.log": "it never got the argument"},
)


def _without(name: str) -> Callable[..., Any]:
    argument, known, _ = _LATER[name]

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            given = kwargs.get(argument, args[-1] if len(args) == len(known) else None)
            if _is_needless(self, argument, given):
                args = args[: len(known) - 1]
                kwargs.pop(argument, None)
            return original(self, *args, **kwargs)

        return method

    return decorate


def _is_needless(trainer: Any, argument: str, value: Any) -> bool:
    """Whether a Trainer of these releases does the same without the value of an argument."""
    if argument == "start_time":
        return value is None or not getattr(trainer.args, "include_num_input_tokens_seen", False)
    return value is None or value is getattr(trainer, argument, None)


for _name in _LATER:
    FIX.wraps((f"{_TRAINER}.{_name}", _LATER[_name][2]), on_error=_errors(_name))(_without(_name))


@FIX.recognises
def lacks_the_argument(function: ast.AST) -> bool:
    """One of the methods, from before it had the argument."""
    if not isinstance(function, ast.FunctionDef) or function.name not in _LATER:
        return False
    return tuple(argument.arg for argument in function.args.args) == _LATER[function.name][1]
