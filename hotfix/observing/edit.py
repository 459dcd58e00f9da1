"""The edit that has a function tell, as the first thing that it does, what it was called with.

Nothing else changes: its body, signature, names and lines are its own, no frame is between it and its caller, and a
generator, a coroutine or a method that uses ``super()`` is one as before. What is called for it is made by
`hotfix.observing.counter`, and is a global of the function: an import could fail in the middle of the user's call,
where hotfix has left ``sys.modules``. It stays there after the edit was taken out, for calls that have begun.
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
    """The names of what a function is given, and of that which takes all other named arguments (or nothing)."""
    made = function.__code__
    number = made.co_argcount + made.co_kwonlyargcount + bool(made.co_flags & inspect.CO_VARARGS)
    names = made.co_varnames[: number + bool(made.co_flags & inspect.CO_VARKEYWORDS)]
    return names, names[-1] if made.co_flags & inspect.CO_VARKEYWORDS else ""


def provide(function: types.FunctionType, name: str, seen: Callable[..., None]) -> str:
    """Give a function the global that it will call, under a name that means nothing else to it.

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
    """The change of a function that has it call the global `name` with its arguments.

    Args:
        module: name of the module.
        qualname: of the function.
        name: what it calls.
        names: of its parameters.
    """
    text = _TEXT.format(name=name, arguments=", ".join(names))

    def tells(node: ast.AST) -> Optional[Any]:
        # The first from the outside is the function; its replacement may have another name.
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        first = int(ast.get_docstring(node, clean=False) is not None)
        added = code.statements(text, at=node.body[min(first, len(node.body) - 1)])
        body = [*node.body[:first], *added, *node.body[first:]]
        return type(node)(**{**dict(ast.iter_fields(node)), "body": body})

    tells.counts = True  # type: ignore[attr-defined]  # it changes nothing else, and goes with a replacement
    return Target(module, qualname, method="edit", implementation=tells, key=f"{module}:{qualname}")
