"""Functions that differ only in the names of local variables compute the same: `without_names` makes them equal."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import NamedTuple, Union

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_READS_NAMES = {"locals": 0, "vars": 1, "dir": 1, "eval": 2, "exec": 2}  # unless called with so many arguments

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def without_names(tree: ast.AST) -> ast.AST:
    """A copy of a tree whose local variables are numbered in the order of their first assignment.

    The names of parameters that a caller can name, of nested functions and classes, of members of classes, of imports
    and of caught errors are kept. A tree is returned as it is if it may read its local variables by name (`locals`,
    `eval` without a namespace), has ``nonlocal``, or a name that a class would mangle.
    """
    called = {id(node.func): len(node.args) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if any(_is_difficult(node, called.get(id(node), 0)) for node in ast.walk(tree)):
        return tree
    numbered: ast.AST = _Numbered().visit(deepcopy(tree))
    return numbered


class _Scope(NamedTuple):
    names: dict[str, str]
    of_a_class: bool = False


class _Numbered(ast.NodeTransformer):
    """Numbers the variables of each function and comprehension; the innermost scope that binds a name decides."""

    def __init__(self) -> None:
        self.scopes: list[_Scope] = []
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self.visit(node.args)
        self.scopes.append(self._numbers(dict.fromkeys(_unnamed(node.args), True), set(_parameters(node.args))))
        self._rename_unnamed(node.args)
        node.body = self.visit(node.body)
        self.scopes.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        self.scopes.append(_Scope({name: name for name in _bound(node.body)}, of_a_class=True))
        node.body = [self.visit(statement) for statement in node.body]
        self.scopes.pop()
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        for scope in reversed(self.scopes):
            if scope.of_a_class and scope is not self.scopes[-1]:  # methods do not see the names of their class
                continue
            if node.id in scope.names:
                node.id = scope.names[node.id]
                break
        return node

    def _function(self, node: Function) -> ast.AST:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)  # defaults and annotations belong to the scope around it
        node.returns = self.visit(node.returns) if node.returns else None
        bound = {**dict.fromkeys(_unnamed(node.args), True), **_bound(node.body)}
        kept = {name for name, renamed in bound.items() if not renamed} | set(_parameters(node.args))
        self.scopes.append(self._numbers(bound, kept))
        self._rename_unnamed(node.args)
        node.body = [self.visit(statement) for statement in node.body]
        self.scopes.pop()
        return node

    def _comprehension(self, node: ast.AST) -> ast.AST:
        assert isinstance(node, _COMPREHENSIONS)
        first = node.generators[0]
        first.iter = self.visit(first.iter)  # belongs to the scope around it
        targets = [generator.target for generator in node.generators]
        bound = dict.fromkeys((name for target in targets for name in _stored(target)), True)
        self.scopes.append(self._numbers(bound, set()))
        for number, generator in enumerate(node.generators):
            generator.target = self.visit(generator.target)
            if number:
                generator.iter = self.visit(generator.iter)
            generator.ifs = [self.visit(condition) for condition in generator.ifs]
        if isinstance(node, ast.DictComp):
            node.key, node.value = self.visit(node.key), self.visit(node.value)
        else:
            node.elt = self.visit(node.elt)
        self.scopes.pop()
        return node

    def _rename_unnamed(self, arguments: ast.arguments) -> None:
        for parameter in filter(None, (arguments.vararg, arguments.kwarg)):
            parameter.arg = self.scopes[-1].names[parameter.arg]

    def _numbers(self, bound: dict[str, bool], kept: set[str]) -> _Scope:
        names = {name: name for name in kept}
        for name in bound:
            if name not in kept:
                names[name] = f"<{self.count}>"  # no program has such a name
                self.count += 1
        return _Scope(names)


def _is_difficult(node: ast.AST, arguments: int) -> bool:
    """Whether the names of local variables may matter to a node, which is called with so many arguments."""
    if isinstance(node, ast.Name):
        if node.id in _READS_NAMES:
            return not 0 < _READS_NAMES[node.id] <= arguments
        return node.id.startswith("__") and not node.id.endswith("__")
    return isinstance(node, ast.Nonlocal) or (isinstance(node, ast.Attribute) and node.attr == "f_locals")


def _parameters(arguments: ast.arguments) -> list[str]:
    """The names of the parameters that a caller can name."""
    return [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _unnamed(arguments: ast.arguments) -> list[str]:
    """The names after ``*`` and ``**``, which no caller can use."""
    return [parameter.arg for parameter in (arguments.vararg, arguments.kwarg) if parameter]


def _bound(body: list[ast.stmt]) -> dict[str, bool]:
    """The names that a function binds, in order; False for those whose name is kept."""
    names: dict[str, bool] = {}
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            names[node.name] = False
            continue
        if isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
            # `:=` in a comprehension binds in the function around it.
            inner = [inside for inside in ast.walk(node) if isinstance(inside, ast.NamedExpr)]
            names.update({walrus.target.id: False for walrus in inner})
            continue
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(dict.fromkeys(node.names, False))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names[node.name] = False
        elif isinstance(node, ast.alias):
            names[node.asname or node.name.partition(".")[0]] = False
        names.update((name, names.get(name, True)) for name in _stored(node, alone=True))
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))
    return names


def _stored(tree: ast.AST, alone: bool = False) -> list[str]:
    """The variables that a tree assigns or deletes, in order; `alone` looks at its root only."""
    nodes = [tree] if alone else ast.walk(tree)
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))]
