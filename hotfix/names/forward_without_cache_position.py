"""``generate()`` passes ``cache_position`` to models that do not accept it.

Symptom   ``TypeError: LlavaLlamaForCausalLM.forward() got an unexpected keyword argument 'cache_position'`` in the
          first step: LLaVA and the many models that were made from it, MiniGPT4-video; ``TypeError:
          old_llama_for_causal_lm_forward() got an unexpected keyword argument 'cache_position'`` from duo-attention;
          ``BARTDecoder.prepare_inputs_for_inference() got an unexpected keyword argument 'cache_position'``: nougat.
Cause     A class with a ``forward`` of its own inherits ``prepare_inputs_for_generation`` from the library, and what
          that returns got a key more. One that is the project's own gets the key, too.
Releases  4.38.0 to 5.3.0
Upstream  transformers#29426, LLaVA#1218, LLaVA#1448, nougat#228 and some twenty more; since 5.4.0 the key is left
          out where ``forward`` does not take it
Here      It is omitted, as in 5.4.0, for models whose ``forward`` is not the library's and accepts neither it nor
          ``**kwargs``. A model with a ``__call__`` or a hook of its own, which may remove it, is left alone. It is not
          passed to a ``prepare_inputs_for_generation`` that is not the library's and accepts neither.
"""

from __future__ import annotations

import ast
import inspect
from copy import copy
from functools import wraps
from types import FunctionType
from typing import Any, Callable
from weakref import WeakSet

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="TypeError: LlavaLlamaForCausalLM.forward() got an unexpected keyword argument 'cache_position'",
    kind="crash",
    upstream=("transformers#29426", "LLaVA#1218", "LLaVA#1448", "nougat#228"),
    fixed_in="5.4.0",
    errors=(
        "TypeError: …forward() got an unexpected keyword argument 'cache_position'",
        "TypeError: …prepare_inputs_for_…() got an unexpected keyword argument 'cache_position'",
    ),
    everyone="only models whose own forward or preparation refuses the key: the new code tests it",
    prefilter="_validate_model",
)

_NAME = "prepare_inputs_for_generation"
_refusing: WeakSet[type] = WeakSet()  # classes whose own method does not accept the key
_with_their_own: WeakSet[Any] = WeakSet()  # models that got a function of their own

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
        if _is_refused(self.prepare_inputs_for_generation) and overrides.would_end(TypeError):
            if _NAME in vars(self):
                setattr(self, _NAME, Without(vars(self)[_NAME]))
                _with_their_own.add(self)
            elif isinstance(inspect.getattr_static(type(self), _NAME), FunctionType):  # it gets the model
                _refusing.add(type(self))
                overrides.around(type(self), FIX.id, without_positions)
        return original(self, *args, **kwargs)

    return validate


def without_positions(model: Any, prepare: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The inputs of a step that the model accepts.

    Args:
        model: the model; another one of its class may have a ``forward`` of the library.
        prepare: its ``prepare_inputs_for_generation``.
        args: its arguments.
        kwargs: its arguments.
    """
    if type(model) in _refusing:
        kwargs.pop("cache_position", None)
    inputs = prepare(*args, **kwargs)
    if "cache_position" in inputs and _takes_none(model):
        inputs = copy(inputs)  # the model may keep what it returns
        del inputs["cache_position"]
    return inputs


class Without:
    """A function that a model has got as its ``prepare_inputs_for_generation``, called without the key.

    It is an object of a class, so that the model can be copied and pickled as before.

    Args:
        prepare: the function; ``generate()`` still reads its signature.
    """

    def __init__(self, prepare: Callable[..., Any]) -> None:
        self.__wrapped__ = prepare

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The inputs of a step."""
        kwargs.pop("cache_position", None)
        return self.__wrapped__(*args, **kwargs)


def _is_refused(prepare: Any) -> bool:
    """Whether a function is not the library's, and accepts no such key."""
    return not (overrides.is_of_the_library(prepare) or overrides.takes(prepare, "cache_position"))


def _takes_none(model: Any) -> bool:
    """Whether a model refuses the key: its forward does, and nothing before it can remove the key."""
    if overrides.is_of_the_library(model.forward) or overrides.takes(model.forward, "cache_position"):
        return False
    hook = vars(model).get("_hf_hook")
    if any(not type(part).__module__.startswith("accelerate.") for part in (hook, *getattr(hook, "hooks", ())) if part):
        return False
    called = vars(next(cls for cls in type(model).__mro__ if "__call__" in vars(cls)))["__call__"]
    return getattr(called, "__module__", "").startswith("torch.") and not model._forward_pre_hooks_with_kwargs


@FIX.cleans_up
def restore() -> None:
    """Restore the classes and the models."""
    overrides.forget(FIX.id)
    _refusing.clear()
    for model in list(_with_their_own):
        ours = vars(model).get(_NAME)
        if isinstance(ours, Without):
            setattr(model, _NAME, ours.__wrapped__)
    _with_their_own.clear()


@FIX.recognises
def hands_it_over(*definitions: ast.AST) -> bool:
    """The second function, which prepares the inputs, always returns the key."""
    text = ast.unparse(definitions[-1]) if len(definitions) == 2 else ""
    puts = "'cache_position': cache_position" in text or "model_inputs['cache_position'] = cache_position" in text
    return puts and "past_seen_tokens" not in text  # as 5.4.0 has it
