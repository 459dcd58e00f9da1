"""``generate`` passes ``cache_position`` to a ``prepare_inputs_for_generation`` that does not take it.

Symptom   ``TypeError: BARTDecoder.prepare_inputs_for_inference() got an unexpected keyword argument 'cache_position'``,
          from a method that nougat puts in the place of the library's, or from an override.
Cause     ``generate`` has got an argument more for it.
Releases  4.39.0 to 4.45.2. Releases up to 5.3.0 pass it as well, and are not repaired here.
Upstream  nougat#216 (not repaired)
Here      While ``generate`` runs, a method that was not written in transformers and has neither the argument nor
          ``**kwargs`` is called without it, as in 4.38.2, where the program does not handle the error. For a
          ``forward`` see `forward-without-cache-position`.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import overrides, restarts
from hotfix.patching import compiling

FIX = Fix(
    title="TypeError: prepare_inputs_for_inference() got an unexpected keyword argument 'cache_position'",
    kind="crash",
    upstream=("nougat#216",),
    errors=(
        "TypeError: …prepare_inputs_for_generation() got an unexpected keyword argument 'cache_position'",
        "TypeError: …prepare_inputs_for_inference() got an unexpected keyword argument 'cache_position'",
    ),
    everyone="only models whose own method refuses the key, which `generate` always passes: the new code tests it",
    prefilter="generation_config",
)

_NAME = "prepare_inputs_for_generation"


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin.generate", ">=4.39.0,<=4.45.2"),
    fingerprint_of=(
        "GenerationMixin.generate",
        "transformers.models.llama.modeling_llama:LlamaForCausalLM.prepare_inputs_for_generation",
    ),
)
def for_methods_that_take_none(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate with a method that is called without the key."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling.is_compiling() or not _takes_none(self) or not overrides.would_end(TypeError):
            return original(self, *args, **kwargs)
        with restarts.changed(self, **{_NAME: without_positions}):
            return original(self, *args, **kwargs)

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


def _takes_none(model: Any) -> bool:
    method = getattr(model, _NAME, None)
    return (
        callable(method) and not overrides.is_of_the_library(method) and not overrides.takes(method, "cache_position")
    )


def without_positions(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method with the same signature, which `generate` reads, that leaves the key out.

    Args:
        method: a method of a model, or a function in its place.
    """

    @wraps(method)
    def prepare(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **{name: value for name, value in kwargs.items() if name != "cache_position"})

    return prepare


@FIX.recognises
def hands_it_over(*definitions: ast.AST) -> bool:
    """The second function, of a model that takes the key itself."""
    arguments = getattr(definitions[-1], "args", None)
    named = arguments.args if len(definitions) == 2 and arguments else ()
    return any(argument.arg == "cache_position" for argument in named)
