"""The attention of 5.24.0 passes ``kwargs`` to the ``update`` of a cache, and caches of your own refuse it.

Symptom   ``TypeError: MyCache.update() got an unexpected keyword argument 'kwargs'`` in the first forward pass, from a
          subclass of `Cache` or `DynamicCache` with an ``update(self, key_states, value_states, layer_idx,
          cache_kwargs=None)``, the form of 4.36 to 5.23.
Cause     The attention passes on its keyword arguments to the cache; the library's caches take anything.
Releases  5.24.0
Upstream  not repaired
Here      An ``update`` that was not written in transformers, and accepts neither ``kwargs`` nor ``**``, is called
          without it. A program that handles the TypeError gets it.
"""

from __future__ import annotations

import ast
import sys
from functools import wraps
from typing import Any, Callable
from weakref import WeakKeyDictionary, WeakSet

from hotfix.fix import Fix
from hotfix.names import overrides
from hotfix.patching import compiling, scope

FIX = Fix(
    title="TypeError: MyCache.update() got an unexpected keyword argument 'kwargs'",
    kind="crash",
    everyone="only an update that cannot take the argument, whose error the program does not handle",
    errors=("TypeError: …update() got an unexpected keyword argument 'kwargs'",),
)

_NAME = "update"
_KEY = "kwargs"


@FIX.wraps(
    ("transformers.cache_utils:Cache.__init__", ">=5.24.0,<=5.24.0"),
    fingerprint_of=("Cache.__init__", "transformers.models.llama.modeling_llama:LlamaAttention.forward"),
)
def with_an_update_that_takes_it(original: Callable[..., None]) -> Callable[..., None]:
    """Look at the class of each cache that is made."""

    @wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        _adapt(type(self))

    return __init__


def _adapt(cls: Any) -> None:
    owner = next(base for base in cls.__mro__ if _NAME in vars(base))
    update = vars(owner)[_NAME]
    if owner in _adapted or overrides.is_of_the_library(update) or overrides.takes(update, _KEY):
        return

    @wraps(update)
    def without(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _KEY in kwargs and (owner in _without or compiling.is_compiling() or _would_end()):
            _without.add(owner)
            del kwargs[_KEY]
        return update(self, *args, **kwargs)

    setattr(owner, _NAME, without)
    _adapted[owner] = update


_adapted: WeakKeyDictionary[type, Any] = WeakKeyDictionary()
"""Classes with a method of ours, and their own."""
_without: WeakSet[type] = WeakSet()
"""Those whose error no handler was around the first time."""


def _would_end() -> bool:
    return not scope.is_handled(FIX.id, TypeError, sys._getframe(2), library="transformers")


@FIX.cleans_up
def restore() -> None:
    """Restore the classes."""
    for owner, update in _adapted.items():
        setattr(owner, _NAME, update)
    _adapted.clear()
    _without.clear()


@FIX.recognises
def passes_it_on(*definitions: ast.AST) -> bool:
    """The attention, which is the second, passes its keyword arguments to the cache."""
    return len(definitions) == 2 and "self.layer_idx, kwargs=kwargs)" in ast.unparse(definitions[-1])
