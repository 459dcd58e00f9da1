"""An output class of your own with a field ``past_key_values`` can no longer be made.

Symptom   ``TypeError: LlavaOutput.__init__() got an unexpected keyword argument 'cache'`` in a forward pass that
          returns ``LlavaOutput(logits=logits, past_key_values=past)``: remote code, and packages with output classes of
          their own.
Cause     5.24.0 renames the field of its own classes to ``cache``, and translates the old name in every subclass of
          `ModelOutput`, also in those that declare a field of the old name and none of the new one.
Releases  5.24.0
Upstream  not repaired
Here      An object that is made with a keyword of the old name keeps it, as in 5.23.0; ``outputs["cache"]``, which
          ``generate()`` of 5.24.0 reads, and ``outputs.cache`` give the same value. The same holds for
          ``cache_params``. An object that is made by position, as the release can, is as the release makes it, and
          ``Trainer.predict`` finds no cache in it. Other classes are left alone, and so is a program that handles the
          error.
"""

from __future__ import annotations

import ast
import inspect
from functools import partial, wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="TypeError: __init__() got an unexpected keyword argument 'cache', in an output class of your own",
    kind="crash",
    everyone="only a class with a field of the old name and none of the new one, which cannot be made by that name",
    errors=("TypeError: …__init__() got an unexpected keyword argument 'cache'",),
)

OLD = ("past_key_values", "cache_params")
NEW = "cache"
_KEEPS = "_hotfix_keeps_the_old_name"
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
        inherited = vars(_base(cls, old))[old]
        original(cls, name, value)
        by_position = vars(cls)[name]

        @wraps(value)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if old not in kwargs or scope.is_handled_around(FIX.id, TypeError):
                by_position(self, *args, **kwargs)
                return
            vars(self)[_KEEPS] = True
            value(self, *args, **kwargs)

        type.__setattr__(cls, name, __init__)
        # A field without a default has the property of the base class, which has no setter; an inherited one a value.
        if old not in vars(cls) and hasattr(inherited, "__get__"):
            type.__setattr__(cls, old, _Field(old, inherited))
        if NEW not in vars(cls):
            type.__setattr__(cls, NEW, _AnotherName(old))
        if "__reduce__" not in vars(cls):
            type.__setattr__(cls, "__reduce__", _reduced(cls))

    return __setattr__


@FIX.wraps((f"{_GENERIC}:ModelOutput._replace_old_cache_name", ">=5.24.0,<=5.24.0"))
def by_the_name_of_the_field(original: Callable[..., str]) -> Callable[..., str]:
    """Give the name by which the class has the field."""

    @wraps(original)
    def replace(self: Any, key: str) -> str:
        if (key == NEW or key in OLD) and _KEEPS in vars(self):
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


class _AnotherName:
    """The attribute ``cache`` of an object that keeps the cache by its old name; others have their own."""

    def __init__(self, old: str) -> None:
        self.old = old

    def __get__(self, output: Any, cls: Any = None) -> Any:
        if output is None or _KEEPS not in vars(output):
            raise AttributeError(NEW)
        return vars(output).get(self.old)


class _Field:
    """A field without a default. Objects made by position have the property of the base class."""

    def __init__(self, old: str, inherited: Any) -> None:
        self.old, self.inherited = old, inherited

    def __get__(self, output: Any, cls: Any = None) -> Any:
        if output is None or _KEEPS not in vars(output):
            return self.inherited.__get__(output, cls)
        return vars(output).get(self.old)

    def __set__(self, output: Any, value: Any) -> None:
        if _KEEPS not in vars(output):
            self.inherited.__set__(output, value)
        vars(output)[self.old] = value


def _reduced(cls: Any) -> Callable[..., Any]:
    """The method that takes objects apart for copies; those that keep the name are made by keyword again."""

    def __reduce__(self: Any) -> Any:  # noqa: N807
        made, args, *others = super(cls, self).__reduce__()
        if _KEEPS in vars(self):
            fields = type(self).__dataclass_fields__
            return partial(made, **{name: value for name, value in zip(fields, args)}), (), *others
        return (made, args, *others)

    return __reduce__


def _base(cls: Any, name: str) -> Any:
    return next(each for each in cls.__mro__ if name in vars(each))


def _old(names: Any) -> Optional[str]:
    """The old name among those of fields or parameters, if the new one is not among them."""
    return None if NEW in names else next((name for name in OLD if name in names), None)
