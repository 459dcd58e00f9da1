"""``generate()`` passes a cache to models that accept only tuples.

Symptom   ``KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'``, ``AttributeError: 'NoneType'
          object has no attribute 'shape'`` or ``TypeError: 'DynamicCache' object is not subscriptable`` in the first
          step, from remote code written before there were caches: InternLM2, ChatGLM, Qwen 1, Baichuan and others.
Cause     ``generate()`` asked ``_supports_cache_class``, which was false unless a class said otherwise. Since 4.54.0
          every model gets an empty cache where it got None.
Releases  4.54.0 and later; in 5.0.0 only with ``cache_implementation="dynamic"``
Upstream  not repaired
Here      A model gets None, as in 4.53.3, if its class was not written in transformers, does not say
          ``_supports_cache_class = True``, reorders tuples by a ``_reorder_cache`` of its own, and the module of its
          ``forward`` has nothing of ``transformers.cache_utils`` in it. All others get what the release gives.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: 'DynamicCache' object is not subscriptable, in a model that was written for tuples",
    kind="removed-api",
    optin="a model that does know caches would no longer get one",
    group="removed-names",
    errors=(
        "KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "TypeError: 'DynamicCache' object is not subscriptable",
    ),
    prefilter="_supports_default_dynamic_cache",
    exempt={
        "transformers.models.granitemoehybrid.modeling_granitemoehybrid:"
        "GraniteMoeHybridForCausalLM._supports_default_dynamic_cache": "the model makes a cache of its own"
    },
)


@FIX.wraps(("transformers.generation.utils:GenerationMixin._supports_default_dynamic_cache", ">=4.54.0"))
def not_for_tuples(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a model takes a cache."""

    def supports(*args: Any, **kwargs: Any) -> bool:
        cls = args[0] if isinstance(args[0], type) else type(args[0])
        return original(*args, **kwargs) and not knows_tuples_only(cls)

    return supports


def knows_tuples_only(cls: Any) -> bool:
    """Whether a class of a model was written before there were caches."""
    reorder = getattr(cls, "_reorder_cache", None)
    own = reorder is not None and not str(reorder.__module__).startswith("transformers.")
    if not own or getattr(cls, "_supports_cache_class", False):
        return False
    names = vars(sys.modules.get(str(cls.forward.__module__), object)).values()
    # A class of caches, or a function of that module: either was imported in order to work with caches.
    return not any(getattr(value, "__module__", None) == "transformers.cache_utils" for value in list(names))


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It does not ask the class whether it knows caches."""
    return function.name == "_supports_default_dynamic_cache" and "_supports_cache_class" not in ast.unparse(function)
