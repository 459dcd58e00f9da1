"""``generate()`` from embeddings reads no prompt in models that look for an absent past.

Symptom   ``IndexError: index is out of bounds for dimension with size 0`` in the first step: moondream and its many
          wrappers, other models with a copy of Phi.
Cause     Their ``prepare_inputs_for_generation`` takes ``inputs_embeds`` where ``past_key_values`` is None, and token
          ids otherwise. Since 4.42.0 they get an empty cache where they got None, and there are no token ids.
Releases  4.42.0 and later; in 5.0.0 only with ``cache_implementation="dynamic"``
Upstream  transformers#31782, transformers#32321, moondream#128, ComfyUI-moondream#19 and some ten more (not repaired)
Here      Where the method was not written in transformers, and gets embeddings and an empty cache, it is called with
          None, as in 4.41.2. The cache goes to the model in its place, and holds what it has seen.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="IndexError: index is out of bounds for dimension with size 0, of moondream and others with a copy of Phi",
    kind="removed-api",
    upstream=("transformers#31782", "transformers#32321", "moondream#128", "ComfyUI-moondream#19"),
    optin="a model that does know the empty cache would no longer get it",
    group="removed-names",
    errors=("IndexError: index is out of bounds for dimension with size 0",),
    prefilter="_supports_default_dynamic_cache",
    exempt={
        "transformers.models.granitemoehybrid.modeling_granitemoehybrid:"
        "GraniteMoeHybridForCausalLM._supports_default_dynamic_cache": "the model makes a cache of its own"
    },
)


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin._validate_model_kwargs", ">=4.42.0"),
    fingerprint_of=("GenerationMixin._supports_default_dynamic_cache",),
)
def for_models_of_others(original: Callable[..., Any]) -> Callable[..., Any]:
    """Check before the first step who prepares the inputs."""

    @wraps(original)
    def validate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not overrides.is_of_the_library(type(self).prepare_inputs_for_generation):
            overrides.around(type(self), FIX.id, without_an_empty_past)
        return original(self, *args, **kwargs)

    return validate


def without_an_empty_past(model: Any, prepare: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The inputs of a step, prepared with None in place of an empty past.

    Args:
        model: the model.
        prepare: its ``prepare_inputs_for_generation``.
        args: its arguments.
        kwargs: its arguments.
    """
    past = kwargs.get("past_key_values")
    if past is None or kwargs.get("inputs_embeds") is None or not _is_empty(past):
        return prepare(*args, **kwargs)
    inputs = prepare(*args, **{**kwargs, "past_key_values": None})
    if inputs.get("past_key_values", past) is None:
        inputs["past_key_values"] = past
    return inputs


def _is_empty(past: Any) -> bool:
    from transformers.cache_utils import DynamicCache  # `generate()` has made it

    # A cache of a fixed size comes from the caller, who knows about it.
    return type(past) is DynamicCache and past.get_seq_length() == 0


@FIX.cleans_up
def restore() -> None:
    """Restore the classes."""
    overrides.forget(FIX.id)


@FIX.recognises
def makes_a_cache(function: ast.AST) -> bool:
    """It is there: models get a cache that is made before the first step."""
    return isinstance(function, ast.FunctionDef) and function.name == "_supports_default_dynamic_cache"
