"""The edit that has a function tell, as the first thing that it does, what it was called with.

Nothing else changes: its body, signature, names and lines are its own, no frame is between it and its caller, and a
generator, a coroutine or a method that uses ``super()`` is one as before. What is called for it is made by
`hotfix.observing`.
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any, Optional

from ..fix import Target
from . import code

# The name is gone before the body begins: ``locals()`` has nothing more in it.
_TEXT = """
from hotfix.observing import {name} as _hotfix_seen
_hotfix_seen({arguments})
del _hotfix_seen
"""


def parameters(function: types.FunctionType) -> tuple[tuple[str, ...], str]:
    """The names of what a function is given, and of that which takes all other named arguments (or nothing)."""
    made = function.__code__
    number = made.co_argcount + made.co_kwonlyargcount + bool(made.co_flags & inspect.CO_VARARGS)
    names = made.co_varnames[: number + bool(made.co_flags & inspect.CO_VARKEYWORDS)]
    return names, names[-1] if made.co_flags & inspect.CO_VARKEYWORDS else ""


def target(module: str, qualname: str, name: str, names: tuple[str, ...]) -> Target:
    """The change of a function that has it call `name` of `hotfix.observing` with its arguments.

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
