"""Dataclasses that inherit from `TrainingArguments` do not know arguments that scripts have used for years.

Symptom   ``TypeError: SFTConfig.__init__() got an unexpected keyword argument 'evaluation_strategy'``; the same from
          ``DPOConfig``, or from a dataclass of a script, and of ``overwrite_output_dir``, ``warmup_ratio`` and others.
Cause     `TrainingArguments` has lost them. Python has generated the constructor of such a class, and nothing of the
          library runs before it refuses an argument.
Releases  as in ``training-args-evaluation-strategy-removed``, from 4.51.0 on
Upstream  not put back
Here      The same translations. Python calls ``__new__``, which is inherited, before the constructor. If a generated
          constructor is about to refuse arguments that all have a translation, ``__new__`` gives the object a class
          derived for this call. Its constructor takes the TypeError, restores the class of the object, and repeats the
          call with the release's names. ``__init__``, fields and signature of the program's class stay the same. A
          constructor that is not generated, a metaclass, and the program's own ``__init_subclass__`` or ``__new__``
          are left alone.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Optional
from weakref import WeakSet

from hotfix.fix import Fix
from hotfix.patching import scope

from ._old_arguments import WITHOUT_EFFECT, fields_of, without_old_names

FIX = Fix(
    title="TypeError: SFTConfig.__init__() got an unexpected keyword argument 'evaluation_strategy'",
    kind="removed-api",
    group="removed-names",
    errors=tuple(
        f"TypeError: {kind}.__init__() got an unexpected keyword argument '{name}'"
        for kind in ("SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig", "ORPOConfig")
        for name in ("evaluation_strategy", "overwrite_output_dir", "save_safetensors", "warmup_ratio", "logging_dir")
    ),
)


@FIX.adds_made(("transformers.training_args:TrainingArguments.__new__", ">=4.51.0"))
def making(training_args: Any) -> Any:
    """The method for the class and those that inherit from it."""
    _owners.add(training_args.TrainingArguments)
    return Making(training_args.TrainingArguments)


@FIX.cleans_up
def put_to_rest() -> None:
    """Leave a ``__new__`` that acts like that of `object`: Python does not return to that when ours is deleted."""
    for owner in list(_owners):
        if "__new__" not in vars(owner):
            owner.__new__ = Making(owner, is_at_rest=True)


class Making:
    """The ``__new__`` of a class that inherits that of `object`; for `inspect` it still has none of its own.

    Args:
        owner: the class that gets it.
        is_at_rest: whether the fix was reverted.
    """

    def __init__(self, owner: Any, is_at_rest: bool = False) -> None:
        self.owner = owner
        self.is_at_rest = is_at_rest

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        if sys._getframe(1).f_globals.get("__name__") == "inspect":
            return self.further(owner or type(instance))
        return self.make

    def further(self, cls: type) -> Any:
        """The inherited ``__new__`` of a class: the one after ours."""
        inherited: Any = super(self.owner, cls)
        return inherited.__new__

    def make(self, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        """An object that is not initialized yet.

        Args:
            cls: its class.
            args: of the constructor.
            kwargs: of the constructor.
        """
        further = self.further(cls)
        if further is not object.__new__:
            return further(cls, *args, **kwargs)
        acts = kwargs and not self.is_at_rest and _is_refused(cls, kwargs)
        if acts and not scope.is_handled(FIX.id, TypeError, sys._getframe(1)):
            return further(_for_one_call(cls))
        return further(cls)


_owners: WeakSet[Any] = WeakSet()


# ---------------------------------------------------------------------------------------------------------------------


def _is_refused(cls: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the constructor of a class is a generated one, and refuses only arguments that have a translation."""
    if not _has_generated_constructor(cls):
        return False
    code = cls.__init__.__code__
    taken = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    unknown = kwargs.keys() - set(taken)
    if not unknown or not unknown <= WITHOUT_EFFECT.keys():
        return False
    try:
        return without_old_names(kwargs, fields_of(cls))[0].keys() <= set(taken)
    except (TypeError, ValueError):  # the call raises it
        return True


def _has_generated_constructor(cls: Any) -> bool:
    """Whether `dataclasses` wrote the constructor, and nothing of the program runs when a class is derived."""
    *order, _ = cls.__mro__
    owner, init = next(kind for kind in order if "__init__" in vars(kind)), cls.__init__
    own = any(name in vars(kind) for kind in order for name in ("__init_subclass__", "__setattr__"))
    if type(cls) is not type or own or getattr(cls.__new__, "__func__", None) is not Making.make:
        return False
    if type(init) is not types.FunctionType or "__dataclass_fields__" not in vars(owner):
        return False
    code = init.__code__
    return code.co_filename == "<string>" and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)


def _for_one_call(cls: Any) -> Any:
    """A class whose constructor takes the TypeError of the one of `cls`, and calls it again."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        self.__class__ = cls
        try:
            cls.__init__(self, *args, **kwargs)
            return
        except TypeError as error:
            if "got an unexpected keyword argument" not in str(error):
                raise
        made, old = without_old_names(kwargs, fields_of(cls))
        cls.__init__(self, *args, **made)
        for name, value in old.items():
            vars(self).setdefault(name, value)

    names = {"__init__": init, "__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls,), names)
