"""Does a constructor of the program's only build a module? Then it may run once more, and nothing else notices.

Only known calls are allowed: of torch, the library, mathematics and Python's own functions, of the object's methods,
and of functions of the program that only compute as well.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import logging
import textwrap
import types
from collections.abc import Iterable
from typing import Any

_KNOWN = frozenset(("math", "numpy", "timm", "torch", "transformers", "typing"))
_FUNCTIONS = frozenset(
    "abs all any bool dict enumerate float frozenset getattr hasattr int isinstance issubclass len list max min pow "
    "print range repr reversed round set setattr slice sorted str sum super tuple type zip".split()
)
_LOOK = frozenset(("getattr", "hasattr", "isinstance", "len", "setattr", "super", "type"))
_REGISTER = frozenset(("register_buffer", "register_module", "register_parameter"))
_LOG = frozenset(("debug", "info", "warning", "warning_once", "error"))
_READ = frozenset(("copy", "get", "items", "keys", "values"))
_HAND_ON = frozenset(
    "addFilter addHandler attach connect listen observe put register schedule send start submit subscribe write".split()
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, list, dict, set, frozenset)


def only_builds(kinds: Iterable[type]) -> bool:
    """Whether the constructors of classes only build their objects.

    Args:
        kinds: the classes of a model and of its parts, with their bases. Those of torch and of the library do.

    Returns:
        False also where the source of a constructor cannot be read.
    """
    checks = _Checks()
    return all(checks.class_only_builds(kind) for kind in kinds)


class _Checks:
    """The classes and functions that were checked: one that calls itself is checked once."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def class_only_builds(self, kind: type) -> bool:
        if _package(kind) in _KNOWN or kind.__module__ == "builtins" or kind in self.seen:
            return True
        self.seen.add(kind)
        if any("__del__" in vars(base) for base in kind.__mro__ if _package(base) not in _KNOWN):
            return False
        made = [vars(base).get(name) for base in kind.__mro__ for name in ("__new__", "__init__") if _is_own(base)]
        return all(self.function_only_builds(function, kind) for function in made if function is not None)

    def function_only_builds(self, function: Any, kind: Any = None) -> bool:
        """Whether a function computes, and does nothing else.

        Args:
            function: of the program.
            kind: the class whose method it is; the class may override what it calls.
        """
        function = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
            return False
        if (function, kind) in self.seen:
            return True
        self.seen.add((function, kind))
        try:
            definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        except (OSError, SyntaxError, TypeError):
            return False
        if not isinstance(definition, ast.FunctionDef):
            return False
        scope = _Scope(function, kind, self)
        return all(scope.allows(node) for part in definition.body for node in ast.walk(part))


class _Scope:
    """The names of a function.

    Args:
        function: the function.
        kind: the class whose method it is, or None.
        checks: those of all classes.
    """

    def __init__(self, function: types.FunctionType, kind: Any, checks: _Checks) -> None:
        code = function.__code__
        self.kind, self.checks = kind, checks
        self.first = code.co_varnames[0] if kind is not None and code.co_argcount else ""
        self.local = {*code.co_varnames, *code.co_cellvars}
        self.local |= {
            name for inner in code.co_consts if isinstance(inner, types.CodeType) for name in inner.co_varnames
        }
        held = inspect.getclosurevars(function)
        self.outer = {**vars(builtins), **function.__globals__, **held.nonlocals}

    def allows(self, node: ast.AST) -> bool:
        if isinstance(
            node, (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Await, ast.Yield, ast.YieldFrom)
        ):
            return False
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            return self._root(node) in self.local
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self.local:
            return self._may_read(self.outer.get(node.id))
        return not isinstance(node, ast.Call) or self._may_call(node)

    def _may_read(self, value: Any) -> bool:
        """Whether a value from outside may be used: plain data, a module, a class, a function, or a logger."""
        plain = (*_PLAIN, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, logging.Logger)
        return isinstance(value, plain) or _package(type(value)) in _KNOWN - {"torch"} or _is_of_torch(value)

    def _may_call(self, node: ast.Call) -> bool:
        called, given = node.func, [*node.args, *(keyword.value for keyword in node.keywords)]
        name = called.attr if isinstance(called, ast.Attribute) else ""
        if name in _HAND_ON or (name.startswith("register_") and name not in _REGISTER):
            return False
        if (
            any(self._hands_on(part) for part in given)
            and name not in ("apply", "__init__")
            and not self._is_look(called)
        ):
            return False
        if isinstance(called, ast.Name):
            return called.id in self.local or self._may_call_value(self.outer.get(called.id))
        root = self._root(called)
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == self.first:
            method = next((vars(base)[name] for base in self.kind.__mro__ if name in vars(base)), None)
            owner = next((base for base in self.kind.__mro__ if name in vars(base)), object)
            return not _is_own(owner) or self.checks.function_only_builds(method, self.kind)
        if root in self.local or root == "":  # a part of the object, a variable, or the result of a call
            return True
        return self._may_call_value(self._value(called), self.outer.get(root), name)

    def _may_call_value(self, value: Any, holder: Any = None, name: str = "") -> bool:
        if isinstance(holder, logging.Logger):
            return name in _LOG
        if isinstance(holder, _PLAIN) and holder is not None:
            return name in _READ
        if isinstance(value, type):
            return self.checks.class_only_builds(value)
        own_name = str(getattr(value, "__name__", ""))
        if value is not None and getattr(builtins, own_name, None) is value:
            return own_name in _FUNCTIONS
        if isinstance(value, types.FunctionType) and _package(value) not in _KNOWN:
            return self.checks.function_only_builds(value)
        return value is not None and _package(value) in _KNOWN and not _draws(value)

    def _is_look(self, called: ast.AST) -> bool:
        return isinstance(called, ast.Name) and called.id in _LOOK

    def _hands_on(self, part: ast.AST) -> bool:
        """Whether an argument is the object, or one of its methods."""
        if isinstance(part, ast.Starred):
            part = part.value
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == self.first:
            return callable(getattr(self.kind, part.attr, None))
        return isinstance(part, ast.Name) and part.id == self.first and bool(self.first)

    def _root(self, node: ast.AST) -> str:
        """The first name of an expression; empty if it begins otherwise."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    def _value(self, node: ast.AST) -> Any:
        """The value of an expression of names from outside of the function, or None."""
        if isinstance(node, ast.Name):
            return self.outer.get(node.id)
        if isinstance(node, ast.Attribute):
            holder = self._value(node.value)
            is_static = isinstance(holder, (types.ModuleType, type))
            return getattr(holder, node.attr, None) if is_static else None
        return None


def _package(thing: Any) -> str:
    """The top package that a class, a function or a module is from; that of the class for another object."""
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    return str(name or type(thing).__module__).partition(".")[0]


def _is_own(kind: type) -> bool:
    return _package(kind) not in (*_KNOWN, "builtins")


def _is_of_torch(value: Any) -> bool:
    """Whether a value is one of torch that has no state, such as a dtype."""
    import torch

    return isinstance(value, (torch.dtype, torch.device, torch.Size))


def _draws(value: Any) -> bool:
    """Whether a function draws from a state that is not the default generator of torch."""
    return ".random" in str(getattr(value, "__module__", "")) or "random" in str(type(value).__module__)
