"""The edit that makes a function first report the arguments of its call.

Nothing else changes: the function keeps its body, signature, names and lines, and no frame comes between it and its
caller. A generator, a coroutine or a method that uses ``super()`` works as before. `hotfix.observing.counter` makes the
function that receives the report. It is a global of the observed function, because an import could fail in the middle
of the user's call if hotfix is gone from ``sys.modules``. It stays there after the edit is removed, for calls that are
still running.
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any, Callable, Optional

from ..fix import Target
from ..patching import code

_TEXT = "{name}({arguments})"


def parameters(function: types.FunctionType) -> tuple[tuple[str, ...], str]:
    """The parameter names of a function, and the one for all other keyword arguments (or an empty string)."""
    made = function.__code__
    number = made.co_argcount + made.co_kwonlyargcount + bool(made.co_flags & inspect.CO_VARARGS)
    names = made.co_varnames[: number + bool(made.co_flags & inspect.CO_VARKEYWORDS)]
    return names, names[-1] if made.co_flags & inspect.CO_VARKEYWORDS else ""


def provide(function: types.FunctionType, name: str, seen: Callable[..., None]) -> str:
    """Give a function the global that it will call, under a name that it does not use otherwise.

    Returns:
        The name.
    """
    made = function.__code__
    while name in (*made.co_varnames, *made.co_cellvars, *made.co_freevars) or (
        function.__globals__.get(name, seen) is not seen
    ):
        name = f"_{name}_"
    function.__globals__[name] = seen
    return name


def target(module: str, qualname: str, name: str, names: tuple[str, ...]) -> Target:
    """The edit that makes a function call the global `name` with its arguments.

    Args:
        module: name of the module.
        qualname: the qualified name of the function.
        name: the global to call.
        names: the names of its parameters.
    """
    text = _TEXT.format(name=name, arguments=", ".join(names))

    def tells(node: ast.AST) -> Optional[Any]:
        # The outermost definition is the function; its replacement may have another name.
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        first = int(ast.get_docstring(node, clean=False) is not None)
        added = code.statements(text, at=node.body[min(first, len(node.body) - 1)])
        body = [*node.body[:first], *added, *node.body[first:]]
        return type(node)(**{**dict(ast.iter_fields(node)), "body": body})

    tells.counts = True  # type: ignore[attr-defined]  # it changes nothing else, and can be combined with a replacement
    return Target(module, qualname, method="edit", implementation=tells, key=f"{module}:{qualname}")
