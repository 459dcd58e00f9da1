"""``generate()`` no longer calls ``_prepare_encoder_decoder_kwargs_for_generation`` of a model of one's own.

Symptom   Silent since 5.18.0: an encoder-decoder that prepares the inputs of its encoder in this method, such as one
          that joins several passages, a second encoder or features of pictures, encodes the tokens alone. From 4.41.0
          to 5.17.0, ``TypeError: MyModel._prepare_encoder_decoder_kwargs_for_generation() takes from 3 to 4 positional
          arguments but 5 were given``.
Cause     4.41.0 passes the generation configuration as well. 5.18.0 calls a method of another name.
Releases  4.41.0 and later
Upstream  not repaired
Here      The override is called with as many arguments as it takes. If the release ignores it and it raises an error,
          the method of the release is called. A class that overrides one of the new methods as well is left alone, and
          so is one whose other methods use the same code of the program's, such as its ``generate``.
"""

from __future__ import annotations

import inspect
from typing import Any

from hotfix.fix import Fix
from hotfix.names import overrides
from hotfix.patching import elsewhere, restoring, scope

_MIXIN = "transformers.generation.utils:GenerationMixin"
_OLD = "_prepare_encoder_decoder_kwargs_for_generation"
_CALLER = "_maybe_prepare_encoder_kwargs_for_generation"
_NEW = "_prepare_text_encoder_decoder_kwargs_for_generation"

FIX = Fix(
    title="generate() ignores _prepare_encoder_decoder_kwargs_for_generation of a model of your own",
    kind="silent",
    errors=(f"TypeError: ….{_OLD}() takes from 3 to 4 positional arguments but 5 were given",),
    everyone="only a model of the program's that overrides the method, which nothing else calls",
    exempt={
        "transformers.models.dia.generation_dia:DiaGenerationMixin._main_generate_loop": (
            "a loop of Dia's own, whose method other code does not override"
        )
    },
)

_GIVEN = "inputs_tensor, model_kwargs, model_input_name, generation_config"

FIX.edits(
    (f"{_MIXIN}.generate", ">=4.41.0,<5.18.0"),
    old=f"model_kwargs = self.{_OLD}({_GIVEN})",
    new=f"""
        from {__name__} import prepared
        model_kwargs = prepared(self, {_GIVEN})
    """,
    when=f"from {__name__} import is_short; is_short(self)",
)
FIX.edits(
    (f"{_MIXIN}.{_CALLER}", ">=5.18.0"),
    old=f"""
        return self.{_NEW}(
            inputs_tensor=inputs_tensor,
            model_kwargs=model_kwargs,
            model_input_name=model_input_name,
            generation_config=generation_config,
        )
    """,
    new=f"""
        from {__name__} import revived
        return revived(self, self.{_NEW}, {_GIVEN})
    """,
    when=f"from {__name__} import is_ignored; is_ignored(self)",
)


def _own(model: Any, name: str) -> Any:
    """The function of this name that the program has written for a model; None for the library's, or none."""
    function = inspect.getattr_static(model, name, None)
    is_function = inspect.isfunction(function) or inspect.ismethod(function)
    return function if is_function and not overrides.is_of_the_library(function) else None


def is_ignored(model: Any) -> bool:
    """Whether a model overrides the method that the release does not call, and does its work nowhere else."""
    if _own(model, _OLD) is None or any(_own(model, name) is not None for name in (_NEW, _CALLER)):
        return False
    return not elsewhere.is_done_elsewhere(FIX.id, model, _OLD, without=("__init__", "forward"))


def is_short(model: Any) -> bool:
    """Whether a model overrides the method without the last argument, and the program would end."""
    return _own(model, _OLD) is not None and _number(model, 4) < 4 and overrides.would_end(TypeError)


def _number(model: Any, most: int) -> int:
    """How many arguments the override takes, of at most so many."""
    method = getattr(model, _OLD)
    for number in range(most, 0, -1):
        try:
            inspect.signature(method).bind(*range(number))
        except TypeError:
            continue
        return number
    return most  # as in the release


def prepared(model: Any, *arguments: Any) -> Any:
    """The arguments of the model with the outputs of its encoder.

    Args:
        model: has the override.
        arguments: inputs, arguments of the model, the name of the inputs, and the generation configuration.
    """
    return getattr(model, _OLD)(*arguments[: _number(model, len(arguments))])


def revived(model: Any, method: Any, *arguments: Any) -> Any:
    """The same, or the result of the release's method if the override raises an error.

    Args:
        model: has the override.
        method: of the release.
        arguments: as of `prepared`.
    """
    inputs, of_model, *rest = arguments
    try:
        with restoring.granting(f"{_MIXIN}.{_OLD}"):
            return prepared(model, inputs, {**of_model}, *rest)
    except Exception as error:
        scope.leave_alone(FIX.id, f"your {type(model).__name__}.{_OLD} raises {type(error).__name__}: {error}")
        return method(*arguments)
