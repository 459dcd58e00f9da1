"""The hotfix helpers that repaired code uses, bound when the repair is installed.

The source of edits and conditions imports its helpers by name. The installed code does not: it runs in the user's
calls, and by then hotfix may be gone from `sys.modules` (a test isolates modules, a program purges them). An import
would then fail, or load a second copy that knows none of the repairs. So each helper is a global of the repaired
function until the repair is removed. Only calls already running at that time, and copies of the function with other
globals, still import.
"""

from __future__ import annotations

import ast
import types
from importlib import import_module
from typing import Union

from ..errors import Refusal

_PACKAGE = "hotfix"  # its name in the source of edits
_HERE = __name__.removesuffix(".patching.binding")  # another name if hotfix is vendored

_bound: dict[str, types.ModuleType] = {}  # by the name of the global
_users: dict[tuple[int, str], set[int]] = {}  # the functions that use a global of a namespace


def bound(tree: ast.Module) -> ast.Module:
    """Make a tree take hotfix's own modules from globals instead of imports; the tree is changed in place.

    Raises:
        Refusal: a module that it imports cannot be imported, or lacks an imported name.
    """
    _bind(tree)
    return tree


def provide(function: types.FunctionType, made: types.CodeType) -> None:
    """Give a function the hotfix globals that its new code uses.

    Args:
        function: the function that gets the code.
        made: the code, compiled from a tree that `bound` has returned.
    """
    for name in names(made):
        function.__globals__[name] = _bound[name]
        _users.setdefault((id(function.__globals__), name), set()).add(id(function))


def withdraw(function: types.FunctionType, made: types.CodeType) -> None:
    """Remove the globals that no other function of the module needs.

    Args:
        function: the function, which has other code now.
        made: the code that it had before.
    """
    for name in names(made) - names(function.__code__):
        users = _users.get((id(function.__globals__), name), set())
        users.discard(id(function))
        if not users:
            function.__globals__.pop(name, None)


def names(made: types.CodeType) -> set[str]:
    """The names of the hotfix globals that code, or a function in it, uses."""
    bound_names = {name for name in made.co_names if name in _bound}
    return bound_names.union(*(names(const) for const in made.co_consts if isinstance(const, types.CodeType)))


def imports(made: types.CodeType) -> bool:
    """Whether code, or a function in it, imports modules of hotfix when it runs."""
    return any(name.startswith(f"{_PACKAGE}.") for name in made.co_names) or any(
        imports(const) for const in made.co_consts if isinstance(const, types.CodeType)
    )


# ---------------------------------------------------------------------------------------------------------------------


_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


def _bind(owner: ast.AST) -> None:
    """Change the imports in the blocks of a module or statement; expressions have none."""
    for field in _BLOCKS:
        block = getattr(owner, field, None)
        if not isinstance(block, list):
            continue
        for number, node in enumerate(block):
            if isinstance(node, ast.Import):
                block[number] = _without_import(node)
            elif isinstance(node, ast.ImportFrom):
                block[number] = _without_import_from(node)
            else:
                _bind(node)


def _without_import(node: ast.Import) -> ast.stmt:
    """``import hotfix.a.b as c``; without ``as`` it would bind ``hotfix`` alone, which no edit uses."""
    if not all(_is_ours(alias.name) and alias.asname for alias in node.names):
        return node
    return _taken(node, [(str(alias.asname), _global(_module(alias.name))) for alias in node.names])


def _without_import_from(node: ast.ImportFrom) -> ast.stmt:
    """``from hotfix.a import b as c``."""
    if node.level or not _is_ours(node.module or ""):
        return node
    return _taken(node, [(alias.asname or alias.name, _member(str(node.module), alias.name)) for alias in node.names])


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _taken(node: Union[ast.Import, ast.ImportFrom], pairs: list[tuple[str, ast.expr]]) -> ast.stmt:
    """Statements that read names from globals, or import them as before if the globals are missing."""
    body: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in pairs]
    handler = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [node])
    made = ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[])
    for each in ast.walk(made):
        ast.copy_location(each, node)
    return made


def _member(module: str, name: str) -> ast.expr:
    """An expression equal to the result of ``from module import name``."""
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
