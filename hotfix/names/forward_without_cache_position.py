"""``generate()`` passes ``cache_position`` to models that do not accept it.

Symptom   ``TypeError: LlavaLlamaForCausalLM.forward() got an unexpected keyword argument 'cache_position'`` in the
          first step: LLaVA and the many models that were made from it, MiniGPT4-video; ``TypeError:
          old_llama_for_causal_lm_forward() got an unexpected keyword argument 'cache_position'`` from duo-attention.
Cause     A class with a ``forward`` of its own inherits ``prepare_inputs_for_generation`` from the library, and what
          that returns got a key more.
Releases  4.38.0 to 5.3.0
Upstream  transformers#29426, LLaVA#1218, LLaVA#1448 and some twenty more; since 5.4.0 the key is left out where
          ``forward`` does not take it
Here      It is omitted, as in 5.4.0, for models whose ``forward`` is not the library's and accepts neither it nor
          ``**kwargs``. A model with a ``__call__`` or a hook of its own, which may remove it, is left alone.
"""

from __future__ import annotations

import ast
import sys
from copy import copy
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="TypeError: LlavaLlamaForCausalLM.forward() got an unexpected keyword argument 'cache_position'",
    kind="crash",
    upstream=("transformers#29426", "LLaVA#1218", "LLaVA#1448"),
    fixed_in="5.4.0",
    errors=("TypeError: …forward() got an unexpected keyword argument 'cache_position'",),
    everyone="only models whose own forward refuses the key, which nothing takes away before: the new code tests it",
    prefilter="_validate_model",
)

MIXIN = "transformers.generation.utils:GenerationMixin"
LLAMA = "transformers.models.llama.modeling_llama:LlamaForCausalLM.prepare_inputs_for_generation"


# Every `generate()` calls both. Up to 4.45.2 each model prepared its own inputs; the change is made in the user's
# class, whichever model it inherits.
@FIX.wraps(
    (f"{MIXIN}._validate_model_class", ">=4.38.0,<=4.45.2"),
    fingerprint_of=("GenerationMixin._validate_model_class", LLAMA),
)
@FIX.wraps(
    (f"{MIXIN}._validate_model_kwargs", ">=4.46.1,<=5.3.0"),
    fingerprint_of=("GenerationMixin._validate_model_kwargs", "GenerationMixin.prepare_inputs_for_generation"),
)
def for_models_that_take_none(original: Callable[..., Any]) -> Callable[..., Any]:
    """Check before the first step whether the model accepts it."""

    @wraps(original)
    def validate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _takes_none(self) and overrides.would_end(TypeError):
            overrides.around(type(self), FIX.id, without_positions)
        return original(self, *args, **kwargs)

    return validate


def without_positions(model: Any, prepare: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The inputs of a step that the model accepts.

    Args:
        model: the model; another one of its class may have a ``forward`` of the library.
        prepare: its ``prepare_inputs_for_generation``.
        args: its arguments.
        kwargs: its arguments.
    """
    inputs = prepare(*args, **kwargs)
    if "cache_position" in inputs and _takes_none(model) and overrides.is_for_the_library(sys._getframe(1)):
        inputs = copy(inputs)  # the model may keep what it returns
        del inputs["cache_position"]
    return inputs


def _takes_none(model: Any) -> bool:
    """Whether a model refuses the key: its forward does, and nothing before it can remove the key."""
    if overrides.is_of_the_library(model.forward) or overrides.takes(model.forward, "cache_position"):
        return False
    return overrides.reaches_forward(model)


@FIX.cleans_up
def restore() -> None:
    """Restore the classes."""
    overrides.forget(FIX.id)


@FIX.recognises
def hands_it_over(*definitions: ast.AST) -> bool:
    """The second function, which prepares the inputs, always returns the key."""
    text = ast.unparse(definitions[-1]) if len(definitions) == 2 else ""
    puts = "'cache_position': cache_position" in text or "model_inputs['cache_position'] = cache_position" in text
    return puts and "past_seen_tokens" not in text  # as 5.4.0 has it
