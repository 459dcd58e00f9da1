"""What repaired code takes from hotfix, bound when the repair is installed.

The texts of edits and conditions import their helpers by name. The code that is installed does not: it runs in the
user's calls, and by then hotfix may have left `sys.modules` (a test isolates modules, a program purges them), where an
import would fail, or load a second copy that knows nothing of what was repaired. So each helper is a global of the
repaired function until the repair is taken out. Only calls that have begun by then, and copies of the function with
other globals, still import.
"""

from __future__ import annotations

import ast
import types
from importlib import import_module
from typing import Any, Union

from ..errors import Refusal

_PACKAGE = "hotfix"  # what the texts call it
_HERE = __name__.removesuffix(".patching.binding")  # another name, where somebody has vendored it

_bound: dict[str, types.ModuleType] = {}  # by the name of the global
_users: dict[tuple[int, str], set[int]] = {}  # the functions that take a global from a namespace


def bound(tree: ast.Module) -> ast.Module:
    """A tree whose imports of hotfix's own modules take them from globals; it is changed in place.

    Raises:
        Refusal: a module that it imports cannot be imported, or lacks what is imported from it.
    """
    changed: ast.Module = _Binder().visit(tree)
    return changed


def provide(function: types.FunctionType, made: types.CodeType) -> None:
    """Give a function the globals that its new code takes from hotfix.

    Args:
        function: that gets the code.
        made: the code, of a tree that `bound` has returned.
    """
    for name in names(made):
        function.__globals__[name] = _bound[name]
        _users.setdefault((id(function.__globals__), name), set()).add(id(function))


def withdraw(function: types.FunctionType, made: types.CodeType) -> None:
    """Take out the globals that no other function of the module needs.

    Args:
        function: that has got other code since.
        made: the code that it had.
    """
    for name in names(made) - names(function.__code__):
        users = _users.get((id(function.__globals__), name), set())
        users.discard(id(function))
        if not users:
            function.__globals__.pop(name, None)


def names(made: types.CodeType) -> set[str]:
    """The names of the globals that code takes from hotfix, with that of the functions in it."""
    found = {name for name in made.co_names if name in _bound}
    return found.union(*(names(one) for one in made.co_consts if isinstance(one, types.CodeType)))


def imports(made: types.CodeType) -> bool:
    """Whether code, or a function in it, imports modules of hotfix when it runs."""
    return any(name.startswith(f"{_PACKAGE}.") for name in made.co_names) or any(
        imports(one) for one in made.co_consts if isinstance(one, types.CodeType)
    )


# ---------------------------------------------------------------------------------------------------------------------


class _Binder(ast.NodeTransformer):
    def visit_Import(self, node: ast.Import) -> Any:
        """``import hotfix.a.b as c``; without a new name, ``hotfix`` alone would be bound, which no edit asks for."""
        if not all(_is_ours(alias.name) and alias.asname for alias in node.names):
            return node
        pairs = [(str(alias.asname), _global(_module(alias.name))) for alias in node.names]
        return _taken(node, pairs)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """``from hotfix.a import b as c``."""
        if node.level or not _is_ours(node.module or ""):
            return node
        return _taken(
            node, [(alias.asname or alias.name, _member(str(node.module), alias.name)) for alias in node.names]
        )


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _taken(node: Union[ast.Import, ast.ImportFrom], pairs: list[tuple[str, ast.expr]]) -> ast.stmt:
    """Statements that take something from globals, or import it as before where there are no such globals."""
    body: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in pairs]
    handler = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [node])
    made = ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[])
    for one in ast.walk(made):
        ast.copy_location(one, node)
    return made


def _member(module: str, name: str) -> ast.expr:
    """An expression for what ``from module import name`` gives."""
    if not hasattr(_module(module), name):
        return _global(_module(f"{module}.{name}"))
    return ast.Attribute(_global(_module(module)), name, ast.Load())


def _global(module: types.ModuleType) -> ast.expr:
    name = f"_{module.__name__.replace('.', '__')}"
    _bound[name] = module
    return ast.Name(name, ast.Load())


def _module(name: str) -> types.ModuleType:
    try:
        return import_module(_HERE + name.removeprefix(_PACKAGE))
    except ImportError as error:
        raise Refusal(f"{name}, which the repair needs, cannot be imported: {error}") from error
