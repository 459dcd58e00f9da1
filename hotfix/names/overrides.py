"""Changes to ``prepare_inputs_for_generation`` of classes outside of the library, and checks of their signatures.

Several fixes can change the method of a class. It is wrapped once, and restored when the last fix is reverted, in any
order.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from typing import Any, Callable

from hotfix import asking
from hotfix._support.memo import weakly
from hotfix.patching import scope

_NAME = "prepare_inputs_for_generation"
_MISSING = object()

Behaviour = Callable[..., Any]
"""Takes the model, the wrapped method and its arguments; returns the inputs of a step."""


class _Changed:
    """A class: its own method, if it has any, and the behaviours around it by fix id."""

    def __init__(self, cls: type) -> None:
        self.own = vars(cls).get(_NAME, _MISSING)
        self.behaviours: dict[str, Behaviour] = {}
        self.outer: dict[str, Behaviour] = {}  # around the others


_CLASSES: weakref.WeakKeyDictionary[type, _Changed] = weakref.WeakKeyDictionary()


def around(cls: Any, fix: str, behaviour: Behaviour, outer: bool = False) -> None:
    """Add a behaviour around the method of a class.

    Args:
        cls: the class of a model.
        fix: the id of the fix.
        behaviour: the behaviour.
        outer: whether the behaviours of other fixes are within it.
    """
    if cls not in _CLASSES:
        changed, original = _Changed(cls), getattr(cls, _NAME)

        # `generate()` reads its signature, which stays that of the original.
        @functools.wraps(original)
        def prepare(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A method that the class inherits may be replaced later.
            inherits = changed.own is _MISSING
            call: Any = getattr(super(cls, self), _NAME) if inherits else functools.partial(original, self)
            for behaviour in [*changed.behaviours.values(), *changed.outer.values()]:
                call = functools.partial(behaviour, self, call)
            return call(*args, **kwargs)

        setattr(cls, _NAME, prepare)
        _CLASSES[cls] = changed
    behaviours = _CLASSES[cls].outer if outer else _CLASSES[cls].behaviours
    behaviours[fix] = behaviour


def forget(fix: str) -> None:
    """Remove the behaviours of a fix from all classes."""
    for cls, changed in list(_CLASSES.items()):
        changed.behaviours.pop(fix, None)
        changed.outer.pop(fix, None)
        if changed.behaviours or changed.outer:
            continue
        if changed.own is _MISSING:
            delattr(cls, _NAME)
        else:
            setattr(cls, _NAME, changed.own)
        del _CLASSES[cls]


def would_end(error: type[BaseException]) -> bool:
    """Whether an error in the function of the library that asks would crash the program.

    Handlers around the program's call of the library count, and those of its methods that run within the library.
    """
    return sys.version_info >= (3, 14) or not asking.is_handled(error, sys._getframe(1), library="transformers")


def is_for_the_library(frame: Any) -> bool:
    """Whether the library's own loop has asked for the inputs; one of the program's may want every key.

    Args:
        frame: the frame of a behaviour.
    """
    while str(frame.f_globals.get("__name__")).startswith("hotfix."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("transformers.")


def reaches_forward(model: Any) -> bool:
    """Whether the arguments of a call reach the model's ``forward``: no hook and no ``__call__`` can change them."""
    hook = vars(model).get("_hf_hook")
    if any(not type(part).__module__.startswith("accelerate.") for part in (hook, *getattr(hook, "hooks", ())) if part):
        return False
    called = vars(next(cls for cls in type(model).__mro__ if "__call__" in vars(cls)))["__call__"]
    return getattr(called, "__module__", "").startswith("torch.") and not model._forward_pre_hooks_with_kwargs


def is_of_the_library(function: Any) -> bool:
    """Whether a function, or a method, was written in transformers."""
    return scope.was_written_in("transformers", function)


def takes(function: Any, name: str) -> bool:
    """Whether a function can be given an argument of this name."""
    try:
        return _takes(getattr(function, "__func__", function), name)
    except (TypeError, ValueError):  # not hashable, or without a signature
        return True


@weakly
def _takes(function: Any, name: str) -> bool:
    parameters = inspect.signature(below_wrappers(function), follow_wrapped=False).parameters
    return name in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


_PASSING_ON = {"torch", "transformers", "accelerate", "peft", "deepspeed", "hotfix"}


def below_wrappers(function: Any) -> Any:
    """The function below wrappers of libraries, which pass everything on. A user's wrapper may not."""
    while hasattr(function, "__wrapped__"):
        code = getattr(function, "func", function)  # of a `functools.partial`
        if str(getattr(code, "__globals__", {}).get("__name__")).partition(".")[0] not in _PASSING_ON:
            break
        function = function.__wrapped__
    return function
