"""``generate()`` passes a cache to models that accept only tuples.

Symptom   ``KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'``, ``AttributeError: 'NoneType'
          object has no attribute 'shape'`` or ``TypeError: 'DynamicCache' object is not subscriptable`` in the first
          step, from remote code written before there were caches: InternLM2, ChatGLM, Qwen 1, Baichuan, ERNIE 4.5.
Cause     ``generate()`` asked ``_supports_cache_class``, which was false unless a class said otherwise. Since 4.54.0
          every model gets an empty cache where it got None.
Releases  4.54.0 to 5.23.0; in 5.0.0 only with ``cache_implementation="dynamic"``. 5.24.0 passes the cache by another
          name, and such models do not see it.
Upstream  ERNIE#1212 (not repaired)
Here      If the first step fails with such an error, and the program does not handle it, ``generate()`` starts again
          and gives the model None, as in 4.53.3. With the opt-in the model gets None at once. Either happens only if
          the class of the model was not written in transformers, does not say ``_supports_cache_class = True``,
          reorders tuples by a ``_reorder_cache`` of its own, and the module of its ``forward`` has nothing of
          ``transformers.cache_utils`` in it. A streamer does not get the prompt twice. The error stays if hooks have
          run: these are code of the caller.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import restarts
from hotfix.patching import scope

FIX = Fix(
    title="TypeError: 'DynamicCache' object is not subscriptable, in a model that was written for tuples",
    kind="removed-api",
    upstream=("ERNIE#1212",),
    group="removed-names",
    errors=(
        "KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "TypeError: 'DynamicCache' object is not subscriptable",
    ),
    prefilter="_supports_default_dynamic_cache",
    everyone="only after such an error in the first step, which the program does not handle: the new code tests it",
)


MIXIN = "transformers.generation.utils:GenerationMixin"
_ASKS = "_supports_default_dynamic_cache"
_PREPARES = "GenerationMixin.prepare_inputs_for_generation"
_SAYS = "_supports_cache_class"
_STEPS = "transformers.generation.utils"
_FAILS = (KeyError, TypeError, AttributeError, IndexError)


@FIX.wraps(
    (f"{MIXIN}.{_ASKS}", ">=4.54.0,<5.24.0"),
    fingerprint_of=(f"GenerationMixin.{_ASKS}", _PREPARES),
    optin="a model that does know caches would no longer get one",
)
def not_for_tuples(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a model takes a cache."""

    def supports(*args: Any, **kwargs: Any) -> bool:
        cls = args[0] if isinstance(args[0], type) else type(args[0])
        return original(*args, **kwargs) and not knows_tuples_only(cls)

    return supports


@FIX.wraps((f"{MIXIN}.generate", ">=4.54.0,<5.24.0"), fingerprint_of=(f"GenerationMixin.{_ASKS}", _PREPARES))
def again_without_a_cache(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate once more, without a cache, where the first step has failed with one."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except _FAILS as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            may_run_twice = restarts.may_run_twice(self, args, kwargs, in_first_step=True)
            if not may_run_twice or not _needs_a_tuple(self, _hotfix_error, sys._getframe().f_back):
                raise
            if kwargs.get("streamer") is not None:
                kwargs["streamer"] = restarts.Rest(kwargs["streamer"], 1)  # it has got the prompt
        with restarts.changed(self, **{_ASKS: _does_not}):
            return original(self, *args, **kwargs)

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


@contextmanager
def without_a_cache(model: Any) -> Iterator[None]:
    """Have `generate` give None to a model that was written for tuples, if it has received `generate` from hotfix.

    Without that the program would have ended: no other model is changed.

    Args:
        model: the model.
    """
    cls = type(model)
    reorder = getattr(cls, "_reorder_cache", None)
    if (
        restarts.is_changed(model, _ASKS)
        or reorder is None
        or _is_of_the_library(reorder)
        or not _knows_no_caches(cls, True)
    ):
        yield
        return
    with restarts.changed(model, **{_ASKS: _does_not}):
        yield


def _does_not(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda: False


def _needs_a_tuple(model: Any, error: BaseException, frame: Any) -> bool:
    """Whether a model was written for tuples, failed in its first step, and the program does not handle the error."""
    return (
        (knows_tuples_only(type(model)) or _is_all_its_own(type(model)))
        and not restarts.is_changed(model, _ASKS)
        and restarts.is_of_the_model(model, error, "prepare_inputs_for_generation")
        and _is_first_step(error)
        and not scope.is_handled(FIX.id, type(error), frame)
    )


def _is_first_step(error: BaseException) -> bool:
    """Whether an error of `generate` comes from a step in which no token has been added to the prompt."""
    lengths: set[int] = set()
    traceback = error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if frame.f_globals.get("__name__") == _STEPS:
            ids: Any = frame.f_locals.get("input_ids")
            length = frame.f_locals.get("cur_len")
            lengths.update((ids.shape[-1],) if hasattr(ids, "shape") else ())
            lengths.update((length,) if isinstance(length, int) else ())
    return len(lengths) == 1


def knows_tuples_only(cls: Any) -> bool:
    """Whether a class of a model was written before there were caches, and reorders tuples."""
    reorder = getattr(cls, "_reorder_cache", None)
    return reorder is not None and not _is_of_the_library(reorder) and _knows_no_caches(cls)


def _is_all_its_own(cls: Any) -> bool:
    """Whether a class that knows no caches inherits from no model of the library, so that it got None in 4.53.3."""
    of_models = any(base.__module__.startswith("transformers.models.") for base in cls.__mro__)
    return not of_models and not _is_of_the_library(cls.forward) and _knows_no_caches(cls)


def _is_of_the_library(function: Any) -> bool:
    return scope.was_written_in("transformers", function)


def _knows_no_caches(cls: Any, of_its_own: bool = False) -> bool:
    """Whether a class does not say that it takes a cache, and its module has none.

    Args:
        cls: the class.
        of_its_own: whether only what the program's own classes say counts.
    """
    kinds = [kind for kind in cls.__mro__ if not (of_its_own and _is_of_the_library(kind))]
    if next((vars(kind)[_SAYS] for kind in kinds if _SAYS in vars(kind)), False):
        return False
    names = vars(sys.modules.get(str(cls.forward.__module__), object)).values()
    # A class of caches, or a function of that module: either was imported in order to work with caches.
    return not any(getattr(value, "__module__", None) == "transformers.cache_utils" for value in list(names))


@FIX.recognises
def is_broken(function: ast.FunctionDef, prepare: ast.FunctionDef) -> bool:
    """It does not ask the class whether it knows caches, and a cache has the name that a tuple had."""
    asks = "_supports_cache_class" in ast.unparse(function)
    is_named_so = "past_key_values" in {argument.arg for argument in prepare.args.args}
    return function.name == "_supports_default_dynamic_cache" and not asks and is_named_so
