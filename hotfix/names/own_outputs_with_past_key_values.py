"""An output class of your own with a field ``past_key_values`` can no longer be made.

Symptom   ``TypeError: LlavaOutput.__init__() got an unexpected keyword argument 'cache'`` in a forward pass that
          returns ``LlavaOutput(logits=logits, past_key_values=past)``: remote code, and packages with output classes of
          their own. Where the arguments are passed by position, ``outputs.past_key_values`` is None, silently.
Cause     5.24.0 renames the field of its own classes to ``cache``, and translates the old name in every subclass of
          `ModelOutput`, also in those that declare a field of the old name and none of the new one.
Releases  5.24.0
Upstream  not repaired
Here      In such a class the old name stays, as in 5.23.0; ``outputs["cache"]``, which ``generate()`` of 5.24.0 reads,
          and ``outputs.cache`` give the same value. The same holds for ``cache_params``. Other classes are left alone.
"""

from __future__ import annotations

import ast
import inspect
from functools import wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: __init__() got an unexpected keyword argument 'cache', in an output class of your own",
    kind="crash",
    everyone="only a class with a field of the old name and none of the new one, which cannot be made by that name",
    errors=("TypeError: …__init__() got an unexpected keyword argument 'cache'",),
)

OLD = ("past_key_values", "cache_params")
NEW = "cache"
_GENERIC = "transformers.utils.generic"


@FIX.wraps((f"{_GENERIC}:_BCCacheNameMeta.__setattr__", ">=5.24.0,<=5.24.0"))
def with_a_constructor_of_its_own(original: Callable[..., None]) -> Callable[..., None]:
    """Set the constructor that `dataclass` has made without a translation of names."""

    @wraps(original)
    def __setattr__(cls: Any, name: str, value: Any) -> None:  # noqa: N807
        old = _old(inspect.signature(value).parameters) if name == "__init__" and inspect.isfunction(value) else None
        if old is None:
            original(cls, name, value)
            return
        type.__setattr__(cls, name, value)
        if old not in vars(cls):  # a field without a default: the property of the base class has no setter
            type.__setattr__(cls, old, None)
        if NEW not in vars(cls):
            type.__setattr__(cls, NEW, _another_name_of(old))

    return __setattr__


@FIX.wraps((f"{_GENERIC}:ModelOutput._replace_old_cache_name", ">=5.24.0,<=5.24.0"))
def by_the_name_of_the_field(original: Callable[..., str]) -> Callable[..., str]:
    """Give the name by which the class has the field."""

    @wraps(original)
    def replace(self: Any, key: str) -> str:
        if key == NEW or key in OLD:
            old = _old(getattr(type(self), "__dataclass_fields__", ()))
            if old is not None and key in (old, NEW):
                return old
        return original(self, key)

    return replace


@FIX.recognises
def translates_in_every_class(function: ast.FunctionDef) -> bool:
    """One of the two functions, and no look at the fields of the class."""
    text = ast.unparse(function)
    if function.name == "__setattr__":
        return "_rename_kwargs_for_bc" in text
    return function.name == "_replace_old_cache_name" and "fields" not in text


def _another_name_of(old: str) -> property:
    """The property ``cache`` of a class that keeps the cache by its old name."""
    return property(lambda output: getattr(output, old), lambda output, value: setattr(output, old, value))


def _old(names: Any) -> Optional[str]:
    """The old name among those of fields or parameters, if the new one is not among them."""
    return None if NEW in names else next((name for name in OLD if name in names), None)
