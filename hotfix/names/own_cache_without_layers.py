"""A cache class of your own that keeps its tensors itself can no longer be made.

Symptom   ``ValueError: You should provide exactly one of `layers` or `layer_class_to_replicate` to initialize a
          Cache.`` or ``TypeError: Cache.__init__() missing 1 required positional argument: 'layer_classes'`` at
          ``super().__init__()``, in remote code and in packages with caches of their own (rwkv-fla, Hymba).
Cause     `Cache` was an interface, with a constructor without arguments. It became a container of layers, which demands
          them.
Releases  4.54.0 and later
Upstream  rwkv-fla#6 (not put back)
Here      For a class that defines ``update`` itself, the constructor accepts no arguments again. Such a cache has no
          layers, and the mask is made for ``get_seq_length()`` and the new tokens, as in 4.53.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="ValueError: You should provide exactly one of `layers` or `layer_class_to_replicate` to initialize a Cache",
    kind="removed-api",
    group="removed-names",
    upstream=("rwkv-fla#6",),
    everyone="only a cache whose constructor has raised, and without which the program would end",
    errors=(
        "ValueError: You should provide exactly one of `layers` or `layer_class_to_replicate` to initialize a Cache.",
        "TypeError: Cache.__init__() missing 1 required positional argument: 'layer_classes'",
    ),
)

_CACHE = "transformers.cache_utils:Cache"
_MARK = "_keeps_its_own_tensors"
_LIKE_AN_INTERFACE = {
    "layers": (),
    "layer_classes": None,  # 4.54 and 4.55
    "cache_processor": None,
    "num_hidden_layers": 0,
    "layer_class_to_replicate": None,
    "offloading": False,
}


@FIX.wraps(
    (f"{_CACHE}.__init__", ">=4.54.0"),
    on_error=("ValueError: You should provide exactly one of…", "TypeError: …__init__() missing 1 …'layer_classes'"),
)
def without_layers(original: Any) -> Any:
    """Make a cache that has no layers, if its class stores what it is given."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        kind = type(self)
        if args or kwargs or scope.was_written_in("transformers", kind.update):
            original(self, *args, **kwargs)
            return
        vars(self).update({**_LIKE_AN_INTERFACE, "layers": [], _MARK: True})

    return __init__


@FIX.wraps((f"{_CACHE}.get_mask_sizes", ">=4.54.0"))
def with_its_own_length(original: Any) -> Any:
    """The length of keys is that of the cache and of the new tokens."""

    def get_mask_sizes(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        if _MARK not in vars(self):
            return original(self, query, *args, **kwargs)
        length = query if isinstance(query, int) else query.shape[0]  # to 5.3, the positions
        return self.get_seq_length() + length, 0

    return get_mask_sizes


@FIX.recognises
def needs_layers(function: ast.FunctionDef) -> bool:
    """Whether it demands layers, or asks them."""
    names = {argument.arg for argument in function.args.args}
    if function.name == "__init__":
        return bool(names & {"layer_class_to_replicate", "layer_classes"})
    return function.name == "get_mask_sizes" and occurs("self.layers", function)
