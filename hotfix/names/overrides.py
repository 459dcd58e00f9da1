"""What classes outside of the library hand to their ``forward``, changed by fixes that can each be taken out again.

Several fixes act around one method of one class. It is changed once, and goes back to what it was when the last of them
is taken out, in whatever order.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from typing import Any, Callable

_NAME = "prepare_inputs_for_generation"
_MISSING = object()

Behaviour = Callable[..., Any]
"""Takes the model, what prepares the inputs without it, and the arguments of that; returns the inputs of a step."""


class _Changed:
    """One class: what it had itself under the name, and what acts around it, by the id of its fix."""

    def __init__(self, cls: type) -> None:
        self.own = vars(cls).get(_NAME, _MISSING)
        self.behaviours: dict[str, Behaviour] = {}


_CLASSES: weakref.WeakKeyDictionary[type, _Changed] = weakref.WeakKeyDictionary()


def around(cls: Any, fix: str, behaviour: Behaviour) -> None:
    """Let something act around the preparation of inputs of a class.

    Args:
        cls: class of a model.
        fix: id of the fix that asks.
        behaviour: what is to act.
    """
    if cls not in _CLASSES:
        changed, original = _Changed(cls), getattr(cls, _NAME)

        # Its signature is read by `generate()`, and stays that of the original.
        @functools.wraps(original)
        def prepare(self: Any, *args: Any, **kwargs: Any) -> Any:
            call = functools.partial(original, self)
            for one in list(changed.behaviours.values()):
                call = functools.partial(one, self, call)
            return call(*args, **kwargs)

        setattr(cls, _NAME, prepare)
        _CLASSES[cls] = changed
    _CLASSES[cls].behaviours[fix] = behaviour


def forget(fix: str) -> None:
    """Take what a fix has asked for out of all classes again."""
    for cls, changed in list(_CLASSES.items()):
        changed.behaviours.pop(fix, None)
        if changed.behaviours:
            continue
        if changed.own is _MISSING:
            delattr(cls, _NAME)
        else:
            setattr(cls, _NAME, changed.own)
        del _CLASSES[cls]


def is_of_the_library(function: Any) -> bool:
    """Whether a function, or a method, was written in transformers."""
    return str(getattr(function, "__module__", "")).startswith("transformers.")


def takes(function: Any, name: str) -> bool:
    """Whether a function can be given an argument of this name."""
    return _takes(getattr(function, "__func__", function), name)


@functools.lru_cache(maxsize=256)
def _takes(function: Any, name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
