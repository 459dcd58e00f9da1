"""``@check_model_inputs()`` is refused where the decorator is used without brackets.

Symptom   ``TypeError: check_model_inputs() missing 1 required positional argument: 'func'`` from model code that was
          written for 4.57.2 to 5.1.0, when its module is imported.
Cause     4.57.2 added an argument, and with it brackets, to the decorator; 5.4.0 restored it without them.
Releases  4.54.0 to 4.57.1, 5.4.0 and later
Upstream  brackets are taken from 4.57.2 to 5.1.0
Here      After the error, the decorator is the one of the release: on 4.x, which has no value of
          ``tie_last_hidden_states`` but True, this function itself; on 5.x ``capture_outputs`` within it, as in 5.1.0,
          since the decorator alone collects no hidden states or attentions there.
"""

from __future__ import annotations

import ast
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Callable

from hotfix.fix import Fix

_TARGET = "transformers.utils.generic:check_model_inputs"

FIX = Fix(
    title="TypeError: check_model_inputs() missing 1 required positional argument: 'func'",
    kind="removed-api",
    fixed_in="4.57.2",
    group="removed-names",
    errors=(
        "TypeError: check_model_inputs() missing 1 required positional argument: 'func'",
        "TypeError: check_model_inputs() got an unexpected keyword argument 'tie_last_hidden_states'",
    ),
    prefilter="check_model_inputs",
)


_WITH_BRACKETS = (*(f"4.57.{last}" for last in range(2, 7)), "5.0.0", "5.1.0")
_WITHOUT_IT = ("5.2.0", "5.3.0")


@FIX.wraps(
    (_TARGET, ",".join((">=4.54.0", *(f"!={release}" for release in (*_WITH_BRACKETS, *_WITHOUT_IT))))), on_error=True
)
def with_brackets(original: Callable[..., Any]) -> Callable[..., Any]:
    """Called without a function, it returns the decorator of 5.1.0."""

    @wraps(original)
    def check_model_inputs(*args: Any, **kwargs: Any) -> Any:
        if args or not kwargs.keys() <= {"tie_last_hidden_states"}:
            return original(*args, **kwargs)
        if find_spec("transformers.utils.output_capturing") is not None:
            capture = import_module("transformers.utils.output_capturing").capture_outputs
            return lambda forward: original(capture(forward, **kwargs))
        # On 4.x, the decorator itself captures, and knows no other value than True.
        return original if kwargs.get("tie_last_hidden_states", True) is True else original(**kwargs)

    return check_model_inputs


@FIX.recognises
def takes_a_function_alone(function: ast.AST) -> bool:
    """The decorator, with one parameter that has no default."""
    if not isinstance(function, ast.FunctionDef) or function.name != "check_model_inputs":
        return False
    return ast.unparse(function.args) == "func"
