"""What the constructors of a program's own classes do: traces that they leave outside, and the words in their code."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator
from typing import Any

_OF_LIBRARIES = ("builtins", "torch", "transformers")
_MADE_BY = ("__new__", "__init__")
_ADD = frozenset(("add", "append", "appendleft", "extend", "insert", "push", "put", "register", "setdefault", "update"))
_ONLY_LOOK = frozenset(("getattr", "hasattr", "id", "isinstance", "len", "setattr", "super", "type"))


def leave_traces(modules: Iterable[Any]) -> bool:
    """Whether the constructor of a module writes to a global or a class, or hands the module to other code.

    Args:
        modules: a model and its parts. Constructors of torch and of the library leave none.

    Returns:
        True also where the source of a constructor cannot be read.
    """
    kinds = {base for module in modules for base in type(module).__mro__}
    own = [kind for kind in kinds if kind.__module__.partition(".")[0] not in _OF_LIBRARIES]
    return any(_leaves_traces(kind) for kind in own)


def words(kind: type) -> set[str]:
    """The names and texts in the constructor of a class, and in the functions of its class and module that it names."""
    left = [_plain(vars(kind).get(name)) for name in _MADE_BY]
    seen: set[types.CodeType] = set()
    known: set[str] = set()
    while left:
        function = left.pop()
        if not inspect.isfunction(function) or (function := inspect.unwrap(function)).__code__ in seen:
            continue
        seen.add(function.__code__)
        names = _words(function.__code__)
        known |= names
        for name in names:
            for held in (vars(kind).get(name), function.__globals__.get(name)):
                if isinstance(held, str):
                    known.add(held)
                elif str(getattr(held, "__module__", "")).partition(".")[0] not in _OF_LIBRARIES:
                    left.append(_plain(held))
    return known


def _words(code: types.CodeType) -> set[str]:
    """The names and texts in code, and in the code inside it."""
    known = {*code.co_names, *code.co_varnames}
    left = list(code.co_consts)
    while left:
        const = left.pop()
        if isinstance(const, str):
            known.add(const)
        elif isinstance(const, (tuple, frozenset)):
            left += const
        elif isinstance(const, types.CodeType):
            known |= _words(const)
    return known


def _leaves_traces(kind: type) -> bool:
    names = [name for name in _MADE_BY if inspect.isfunction(inspect.unwrap(_plain(vars(kind).get(name))))]
    seen: set[str] = set()
    while names:
        name = names.pop()
        method = _plain(vars(kind).get(name))
        if name in seen or not inspect.isfunction(method):
            continue
        seen.add(name)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        except (OSError, SyntaxError, TypeError):
            return True
        if any(_is_trace(node, _Names(method)) for node in ast.walk(tree)):
            return True
        names += [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_self(node, method)]
    return False


def _plain(method: Any) -> Any:
    return method.__func__ if isinstance(method, (staticmethod, classmethod)) else method


class _Names:
    """The names of a method that are its own: arguments and variables; the first is the object.

    Args:
        method: a function.
    """

    def __init__(self, method: Any) -> None:
        code = inspect.unwrap(method).__code__
        self.first = next(iter(code.co_varnames), "")
        self.local = {*code.co_varnames, *code.co_cellvars}


def _is_self(node: ast.Attribute, method: Any) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == _Names(method).first


def _is_trace(node: ast.AST, names: _Names) -> bool:
    """Whether a node writes to something outside of the object, or passes the object on."""
    if isinstance(node, ast.Global):
        return True
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        return not _is_local(node, names)
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if called == "next" or (called in _ADD and isinstance(node.func, ast.Attribute)):
        holders = given[:1] if called == "next" else [node.func]
        return not all(_is_local(holder, names) for holder in holders)
    passes_on = any(isinstance(part, ast.Name) and part.id == names.first for part in given)
    return passes_on and called not in _ONLY_LOOK and called not in _MADE_BY


def _is_local(node: ast.AST, names: _Names) -> bool:
    """Whether an expression begins with a name of the method, and does not lead to a class."""
    return all(name in names.local and not name.startswith("__class__") for name in _path(node))


def _path(node: ast.AST) -> Iterator[str]:
    """The first name of an expression, and ``__class__`` where it asks for the class of an object."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            yield node.attr
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("type", "globals"):
        yield "__class__"
