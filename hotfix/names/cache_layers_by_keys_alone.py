"""A layer of a cache is prepared by the keys alone, as code for 4.57 does.

Symptom   ``TypeError: DynamicLayer.lazy_initialization() missing 1 required positional argument: 'value_states'``, also
          of ``StaticLayer``, from caches of your own that are derived from them and from code that fills a cache
          before the model does.
Cause     The method also takes the values since 5.0.0.
Releases  5.0.0 and later
Upstream  turboquant-vllm#66; by design (not put back)
Here      After the TypeError, the values are taken to have the type and the size of the keys, as in 4.57.6.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

_MISSING = "lazy_initialization() missing 1 required positional argument: 'value_states'"
_CLASSES = ("DynamicLayer", "DynamicSlidingWindowLayer", "StaticLayer")

FIX = Fix(
    title=f"TypeError: DynamicLayer.{_MISSING}",
    kind="removed-api",
    group="removed-names",
    upstream=("turboquant-vllm#66",),
    errors=tuple(f"TypeError: {name}.{_MISSING}" for name in _CLASSES),
    exempt={
        "transformers.cache_utils:CacheLayerMixin.lazy_initialization": "it has no code",
        "transformers.cache_utils:Fp8QuantizedLayer.lazy_initialization": "newer than the change",
        "transformers.models.unlimited_ocr.modeling_unlimited_ocr:*": "newer than the change",
    },
)


@FIX.wraps(
    *((f"transformers.cache_utils:{name}.lazy_initialization", ">=5.0.0") for name in _CLASSES),
    on_error=(f"TypeError: …{_MISSING}",),
)
def of_keys(original: Callable[..., None]) -> Callable[..., None]:
    """Take the keys for the values."""

    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        keys = args[0] if args else kwargs["key_states"]
        original(self, *args, **kwargs, value_states=keys)

    return call


@FIX.recognises
def wants_values(function: ast.AST) -> bool:
    """Whether it takes keys and values."""
    if not isinstance(function, ast.FunctionDef) or function.name != "lazy_initialization":
        return False
    return [argument.arg for argument in function.args.args] == ["self", "key_states", "value_states"]
