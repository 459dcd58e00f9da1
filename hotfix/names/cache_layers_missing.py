"""A `DynamicCache` has no ``layers`` yet, and takes no configuration.

Symptom   ``AttributeError: 'DynamicCache' object has no attribute 'layers'``; ``TypeError: DynamicCache.__init__() got
          an unexpected keyword argument 'config'``, from code for 4.56 and later.
Cause     Until 4.53.3 a cache kept its tensors in two lists, ``key_cache`` and ``value_cache``.
Releases  before 4.54.0
Upstream  the attribute and the argument are new
Here      ``layers`` is a list of views with ``keys``, ``values``, ``is_initialized`` and ``get_seq_length()``; new
          tensors reach the cache. Other caches (offloaded, quantized, of two parts) have no layers, as in the release.
          A configuration is left out: without it a cache grows with every token, as the caches of these releases do.
"""

from __future__ import annotations

import ast
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.names.caches import ReadOnly

_REFUSED = "TypeError: …__init__() got an unexpected keyword argument '{}'"

FIX = Fix(
    title="AttributeError: 'DynamicCache' object has no attribute 'layers'",
    kind="removed-api",
    fixed_in="4.54.0",
    group="removed-names",
    prefilter="key_cache",
    errors=(
        "AttributeError: 'DynamicCache' object has no attribute 'layers'",
        "TypeError: DynamicCache.__init__() got an unexpected keyword argument 'config'",
    ),
)

CACHE = "transformers.cache_utils:DynamicCache"
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "ddp_cache_data": (None,),
    "offloading": (False,),
    "offload_only_non_sliding": (False, True),
}


@FIX.adds_made(("transformers.cache_utils:Cache.layers", "<4.54.0"), of_instances=True)
def layers(cache_utils: Any) -> ReadOnly:
    """The layers of a cache that keeps every token in two lists."""

    def layers(self: Any) -> list[Layer]:
        """Views of the layers."""
        kind = type(self)
        if not isinstance(self, cache_utils.DynamicCache) or (
            kind is not cache_utils.DynamicCache and kind.__module__ == cache_utils.__name__
        ):
            raise AttributeError(f"{kind.__name__!r} object has no attribute 'layers'")
        return [Layer(self, number) for number in range(len(self.key_cache))]

    return ReadOnly(layers)


@FIX.wraps((f"{CACHE}.__init__", "<4.54.0"), on_error=(_REFUSED.format("config"),))
def without_configuration(original: Callable[..., None]) -> Callable[..., None]:
    """Leave the configuration out."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "config" in kwargs:
            kwargs = {
                name: value
                for name, value in kwargs.items()
                if name != "config" and not any(value is neutral for neutral in NEUTRAL.get(name, ()))
            }
        original(self, *args, **kwargs)

    return init


@FIX.recognises
def takes_no_configuration(node: ast.AST) -> bool:
    """The constructor of a cache that makes two lists."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return False
    names = {argument.arg for argument in node.args.args}
    made = {statement.attr for statement in ast.walk(node) if isinstance(statement, ast.Attribute)}
    of_this = names <= {"self", "num_hidden_layers", "_distributed_cache_data"}
    return of_this and {"key_cache", "value_cache"} <= made and "config" not in names


class Layer:
    """One layer of a cache that has lists.

    Args:
        cache: the cache.
        number: of the layer.
    """

    def __init__(self, cache: Any, number: int) -> None:
        self._cache = cache
        self._number = number

    @property
    def keys(self) -> Optional[Any]:
        """The keys, of shape ``(batch, heads, tokens, head_dim)``; None for a layer that was skipped."""
        return self._tensor("key_cache")

    @keys.setter
    def keys(self, tensor: Any) -> None:
        self._cache.key_cache[self._number] = tensor

    @property
    def values(self) -> Optional[Any]:
        """The values, of the same shape."""
        return self._tensor("value_cache")

    @values.setter
    def values(self, tensor: Any) -> None:
        self._cache.value_cache[self._number] = tensor

    @property
    def is_initialized(self) -> bool:
        """Whether the layer has seen tokens."""
        return self.keys is not None

    def get_seq_length(self) -> int:
        """The number of tokens."""
        return 0 if self.keys is None else int(self.keys.shape[-2])

    def _tensor(self, name: str) -> Optional[Any]:
        tensor = getattr(self._cache, name)[self._number]
        return tensor if hasattr(tensor, "dim") and tensor.dim() > 1 else None
