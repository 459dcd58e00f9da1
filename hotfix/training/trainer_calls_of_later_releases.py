"""Methods of the `Trainer` do not take an argument of later releases yet.

Symptom   ``TypeError: Trainer.compute_loss() got an unexpected keyword argument 'num_items_in_batch'``, ``Trainer.log()
          takes 2 positional arguments but 3 were given`` and the like, from custom Trainers for later releases,
          which call ``super()``.
Cause     ``num_items_in_batch`` came with 4.46.1, ``start_time`` with 4.47.0, ``train_dataset`` with 4.52.1.
Releases  before these
Upstream  the arguments are new
Here      After the TypeError, the call is repeated without the argument, if it is None or what the method takes anyway:
          these releases do not count items, and sample the Trainer's own dataset. Any other value raises as before.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

# The argument by method: its name, its position after self, and the first release that has it.
NEW: dict[str, tuple[str, int, str]] = {
    "compute_loss": ("num_items_in_batch", 3, "4.46.1"),
    "training_step": ("num_items_in_batch", 2, "4.46.1"),
    "log": ("start_time", 1, "4.47.0"),
    "_get_train_sampler": ("train_dataset", 0, "4.52.1"),
}

FIX = Fix(
    title="TypeError: Trainer._get_train_sampler() takes 1 positional argument but 2 were given, by super()",
    kind="training",
    fixed_in="4.52.1",
    group="removed-names",
    errors=(  # the others are also those of old overrides: trainer-compute-loss-arity, trainer-log-arity
        "TypeError: Trainer.log() got an unexpected keyword argument 'start_time'",
        "TypeError: Trainer._get_train_sampler() got an unexpected keyword argument 'train_dataset'",
        "TypeError: Trainer._get_train_sampler() takes 1 positional argument but 2 were given",
    ),
)


def _without(name: str, place: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper that leaves an argument out that changes nothing."""

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            value = args[place] if len(args) == place + 1 else kwargs.get(name)
            if value is None or (name == "train_dataset" and value is getattr(self, name, None)):
                kwargs.pop(name, None)
                args = args[:place]
            return original(self, *args, **kwargs)

        return call

    return decorate


for _method, (_name, _place, _first) in NEW.items():
    FIX.wraps(
        (f"transformers.trainer:Trainer.{_method}", f"<{_first}"),
        on_error=(
            f"TypeError: …{_method}() got an unexpected keyword argument '{_name}'",
            f"TypeError: …{_method}() takes … positional argument… but {_place + 2} were given",
        ),
    )(_without(_name, _place))


@FIX.recognises
def lacks_the_argument(function: ast.AST) -> bool:
    """One of the methods without the argument."""
    if not isinstance(function, ast.FunctionDef) or function.name not in NEW:
        return False
    names = [argument.arg for argument in function.args.args]
    name, place, _ = NEW[function.name]
    if name in names or len(names) != place + 1:
        return False
    return function.name == "_get_train_sampler" or (
        names[1] in ("model", "logs") and "self.args" in ast.unparse(function)
    )
