"""A model with ``return_dict=False`` in its configuration dies of the tuple that its own part returns.

Symptom   ``AttributeError: 'tuple' object has no attribute 'last_hidden_state'``, ``'past_key_values'`` or
          ``'to_tuple'`` after ``from_pretrained(..., return_dict=False)`` or ``model.config.return_dict = False``, as
          for a trace.
Cause     The parts of a model have its configuration. Until 4.53.3 a flag told them that they are parts; since then
          they return tuples as well, and the model reads attributes of them.
Releases  4.54.0 and later
Upstream  not repaired as of 5.24.0, except for single models
Here      A model whose configuration asks for tuples passes ``return_dict=True`` on to its parts, with the arguments
          that it passes on anyway. Left alone: code that names ``return_dict`` itself, or reads no attribute of the
          output; a part with a ``forward`` or ``__call__`` of the program's, or a hook that changes its arguments or
          its output; a loss function of the program's; and a program that handles the error. Equal to 4.53.3.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import CodeType
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.models import _hooks
from hotfix.patching import scope
from hotfix.patching.compiling import is_compiling, settled

FIX = Fix(
    title="AttributeError: 'tuple' object has no attribute 'last_hidden_state', with return_dict=False in the config",
    kind="crash",
    upstream=("tt-xla#4134",),
    everyone="only where the configuration asks for tuples: the new code asks for it",
    errors=tuple(
        f"AttributeError: 'tuple' object has no attribute '{name}'"
        for name in ("last_hidden_state", "past_key_values", "to_tuple")
    ),
)

_HOMES = (os.path.join("transformers", "models", ""), os.path.join("transformers", "modeling_layers.py"))
_DECORATORS = os.path.join("transformers", "utils", "")
_TAKES_MORE = 8  # the flag of a function with `**kwargs`
_READ = {"last_hidden_state", "past_key_values", "to_tuple", "hidden_states", "attentions"}
"""Attributes of which a method reads one from the output of a part; if it reads none, a tuple is no error."""

FIX.edits(
    ("transformers.utils.generic:can_return_tuple", ">=4.54.0"),
    old="""
        if return_dict_passed is not None:
            return_dict = return_dict_passed
        output = func(self, *args, **kwargs)
    """,
    new=f"""
        from {__name__} import passed_on
        if return_dict_passed is not None:
            return_dict = return_dict_passed
        if hasattr(self, "config") and not self.config.return_dict:
            kwargs = passed_on(self, func, kwargs)
        output = func(self, *args, **kwargs)
    """,
)


def passed_on(model: Any, method: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method of a model, which it passes on to its parts.

    Args:
        model: the model, whose configuration asks for tuples.
        method: the function.
        arguments: by name.
    """
    models = [part for part in model._modules.values() if hasattr(type(part), "base_model_prefix")]
    parts = [part for part in models if part.config is model.config]
    takes = [_takes(type(part), "forward" in part.__dict__) for part in parts]
    if not (parts and all(takes) and _passes_on(method)) or "_loss_function" in model.__dict__:
        return arguments  # a loss of the program's need not take the argument
    if not is_compiling() and not all(_hooks.only_read(part, FIX.id) for part in parts):
        return arguments
    if scope.is_handled_around(FIX.id, AttributeError):
        return arguments
    return {**arguments, "return_dict": True}


@settled
def _passes_on(method: Any) -> bool:
    """Whether a method is the library's, passes its further arguments on, and reads the output of a part by name."""
    code = _innermost(method)
    if code is None or not code.co_flags & _TAKES_MORE or _READ.isdisjoint(code.co_names):
        return False
    return "return_dict" not in (*code.co_varnames, *_texts(code.co_consts))


@settled
def _takes(kind: type, is_replaced: bool) -> bool:
    """Whether a part is the library's own, and a decorator decides whether it returns a tuple."""
    forward = getattr(kind, "forward", None)
    if is_replaced or not hasattr(forward, "__wrapped__") or _innermost(forward) is None:
        return False
    modules: Any = sys.modules["torch.nn"]
    return kind.__call__ is modules.Module.__call__


def _innermost(function: Any) -> Optional[CodeType]:
    """The code of a function below its decorators; None unless all of it is the library's."""
    while hasattr(function, "__wrapped__"):
        if _DECORATORS not in function.__code__.co_filename:
            return None
        function = function.__wrapped__
    is_of_a_model = any(home in function.__code__.co_filename for home in _HOMES)
    return function.__code__ if is_of_a_model else None


def _texts(constants: Iterable[Any]) -> list[str]:
    """The texts among constants, and those in tuples of them: the names of arguments."""
    return [text for each in constants for text in (each if isinstance(each, tuple) else (each,)) if type(text) is str]
