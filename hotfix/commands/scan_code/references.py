"""Read the names that a Python file uses from transformers, from its syntax tree; nothing is imported or executed.

These are read: imported names, attributes of the package and its modules, arguments by name, tasks of pipelines, and
members of classes of the package that a class of the file inherits. Each has its line, whether it is needed when the
file is imported or only when something is called, and whether it is guarded: by a `try` that continues without it, or
by an `if`.

Files may be anybody's: the time to read one grows with its size, or reading ends with `TooMuch`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional, Union

from ...names.pipelines_removed import TASKS

PACKAGE = "transformers"
_FORGIVING = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "RuntimeError"}
_STEPS = 3_000_000  # nodes that are visited, some of them several times; the largest model files take a tenth
_ANCESTORS = 100  # classes of a file from which a class inherits
_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]


class TooMuch(ValueError):
    """Reading a file would take too long."""


@dataclass(frozen=True)
class Taken:
    """Something that a file takes.

    Attributes:
        module: the module of transformers.
        name: the name in it; an empty string for the module itself.
        line: its number.
        called: whether it is needed only when a function is called.
        guarded: whether the file can do without it.
        instead_of: the names that a `try` takes first: this one is needed if one of them is missing.
    """

    module: str
    name: str
    line: int
    called: bool = False
    guarded: bool = False
    # Thousands of names may have the same thousands here.
    instead_of: tuple[Taken, ...] = field(default=(), hash=False)


@dataclass(frozen=True)
class _Place:
    """The surroundings of a statement."""

    called: bool = False
    guarded: bool = False
    instead_of: tuple[Taken, ...] = ()


@dataclass(frozen=True)
class _Origin:
    """The module of the package, or the name in one, that a name of the file means."""

    module: str
    name: str = ""

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}".rstrip(".")


_PIPELINE = (_Origin(PACKAGE, "pipeline"), _Origin(f"{PACKAGE}.pipelines", "pipeline"))


def taken(tree: ast.Module) -> list[Taken]:
    """Everything that a file uses from the package, in the order of its lines.

    Raises:
        TooMuch: that would take too long.
    """
    reader = _Reader(tree)
    reader.block(tree.body, _Place())
    return sorted(dict.fromkeys(reader.found), key=lambda taken: taken.line)


# ---------------------------------------------------------------------------------------------------------------------
# Below: reading.


class _Reader:
    """Goes through a file, statement by statement.

    Attributes:
        found: the names that the file takes.
        origins: the origin of each name in the file; a name that is also bound in another way is left out.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[Taken] = []
        self.classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self.origins = _origins(tree)
        self._steps = 0
        self._own: dict[ast.ClassDef, frozenset[str]] = {}
        futures = (
            statement
            for statement in tree.body
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        )
        self.lazy_annotations = any(alias.name == "annotations" for statement in futures for alias in statement.names)

    def block(self, body: Iterable[ast.stmt], place: _Place) -> None:
        """Statements that are executed one after the other."""
        for statement in body:
            self.statement(statement, place)

    def statement(self, node: ast.stmt, place: _Place) -> None:
        """One statement, and those inside of it."""
        self._step()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, place)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self._try(node, place)  # type: ignore[arg-type]  # the latter has the same fields
        elif isinstance(node, ast.If):
            self._if(node, place)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            forgives = any(_last(item.context_expr) == "suppress" for item in node.items)
            for item in node.items:
                self.expression(item.context_expr, place)
            self.block(node.body, replace(place, guarded=True) if forgives else place)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._function(node, place)
        elif isinstance(node, ast.ClassDef):
            for expression in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
                self.expression(expression, place)
            self.block(node.body, place)
            self._members(node, place)
        else:
            if isinstance(node, ast.AnnAssign) and self.lazy_annotations:
                parts: Sequence[ast.AST] = [part for part in (node.target, node.value) if part is not None]
            else:
                parts = list(ast.iter_child_nodes(node))
            for part in parts:
                if isinstance(part, ast.stmt):
                    self.statement(part, place)
                elif isinstance(part, ast.expr):
                    self.expression(part, place)
                else:  # the cases of a match
                    self.block(getattr(part, "body", ()), _guarded(place))

    def expression(self, node: Optional[ast.AST], place: _Place) -> None:
        """An expression: attributes of modules, calls, keys of dictionaries."""
        if node is None:
            return
        self._step()
        if isinstance(node, ast.Lambda):
            self.expression(node.body, replace(place, called=True))
            return
        if isinstance(node, ast.IfExp):
            self.expression(node.test, place)
            self.expression(node.body, _guarded(place))
            self.expression(node.orelse, _guarded(place))
            return
        if isinstance(node, ast.BoolOp):
            self.expression(node.values[0], place)
            for operand in node.values[1:]:
                self.expression(operand, _guarded(place))
            return
        if isinstance(node, ast.Attribute):
            chain = self._chain(node)
            if chain is not None:
                self._follow(*chain, place)
                return
        if isinstance(node, ast.Call):
            self._call(node, place)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            origin, key = self._origin_of(node.value), node.slice
            if origin and origin.name and isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._take(origin.module, f"{origin.name}[{key.value!r}]", node.lineno, place)
        for part in ast.iter_child_nodes(node):
            self.expression(part, place)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _import(self, node: Union[ast.Import, ast.ImportFrom], place: _Place) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_ours(alias.name):
                    self._take(alias.name, "", node.lineno, place)
            return
        if node.level or not _is_ours(node.module or ""):
            return
        self._take(node.module or "", "", node.lineno, place)
        for alias in node.names:
            if alias.name != "*":
                self._take(node.module or "", alias.name, getattr(alias, "lineno", node.lineno), place)

    def _try(self, node: ast.Try, place: _Place) -> None:
        forgiving = [handler for handler in node.handlers if _forgives(handler)]
        if not forgiving:
            self.block(node.body, place)
        else:
            before = len(self.found)
            self.block(node.body, _guarded(place))
            asked = tuple(taken for taken in self.found[before:] if not taken.called)
            for handler in node.handlers:
                ends = any(isinstance(statement, ast.Raise) for statement in handler.body)
                fallback = replace(place, instead_of=asked) if asked and not place.guarded else _guarded(place)
                self.block(handler.body, fallback)
                if ends and handler in forgiving:  # it does not continue without the names
                    for index in range(before, before + len(asked)):
                        self.found[index] = replace(self.found[index], guarded=place.guarded)
        if not forgiving:
            for handler in node.handlers:
                self.block(handler.body, _guarded(place))
        self.block(node.orelse, _guarded(place) if forgiving else place)
        self.block(node.finalbody, place)

    def _if(self, node: ast.If, place: _Place) -> None:
        test = node.test
        if _last(test) == "TYPE_CHECKING":
            self.block(node.orelse, place)
            return
        self.expression(test, place)
        main = isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
        inside = replace(place, called=True) if main else _guarded(place)
        self.block(node.body, inside)
        self.block(node.orelse, inside)

    def _function(self, node: Union[ast.FunctionDef, ast.AsyncFunctionDef], place: _Place) -> None:
        arguments = node.args
        for expression in (*node.decorator_list, *arguments.defaults, *arguments.kw_defaults):
            self.expression(expression, place)
        if not self.lazy_annotations:
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
            for annotation in (*(argument.annotation for argument in every if argument), node.returns):
                self.expression(annotation, place)
        self.block(node.body, replace(place, called=True))

    # -- expressions ---------------------------------------------------------------------------------------------------

    def _chain(self, node: ast.Attribute) -> Optional[tuple[_Origin, list[str], int]]:
        """Of ``a.b.c`` the origin of ``a``, and ``b`` and ``c``; None if that is nothing of the package."""
        names: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id not in self.origins:
            return None
        if not isinstance(node.ctx, ast.Load):
            names = names[1:]  # an attribute that is set need not exist before
        return self.origins[inner.id], names[::-1], node.lineno

    def _follow(self, origin: _Origin, names: Sequence[str], line: int, place: _Place) -> None:
        module = origin.dotted
        for name in names:
            if name.startswith("__"):
                return
            self._take(module, name, line, place)
            module = f"{module}.{name}"

    def _call(self, node: ast.Call, place: _Place) -> None:
        called = _last(node.func)
        first, second = ((*node.args, None, None))[:2]
        text = second.value if isinstance(second, ast.Constant) else None
        if called == "getattr" and len(node.args) == 2 and isinstance(text, str) and first is not None:
            origin = self._origin_of(first)
            if origin is not None:
                self._follow(origin, [text], node.lineno, place)
        if called in ("import_module", "__import__") and isinstance(first, ast.Constant) and _is_ours(str(first.value)):
            self._take(str(first.value), "", node.lineno, place)
        origin = self._origin_of(node.func)
        if origin in _PIPELINE:
            self._task(node, place)
        if origin is not None and origin.name:
            for keyword in node.keywords:
                if keyword.arg:
                    self._take(origin.module, f"{origin.name}({keyword.arg}=)", node.lineno, place)

    def _task(self, node: ast.Call, place: _Place) -> None:
        """The class for the task that ``pipeline("summarization")`` looks up, if releases have lost it."""
        tasks = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "task")]
        for value in tasks:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                task = "translation" if value.value.startswith("translation_") else value.value
                if task in TASKS:
                    self._take(f"{PACKAGE}.pipelines", TASKS[task].pipeline, node.lineno, place)

    def _origin_of(self, node: ast.AST) -> Optional[_Origin]:
        if isinstance(node, ast.Name):
            return self.origins.get(node.id)
        if isinstance(node, ast.Attribute):
            chain = self._chain(node)
            if chain is not None and chain[1]:
                origin, names, _ = chain
                return _Origin(".".join([origin.dotted, *names[:-1]]), names[-1])
        return None

    # -- classes -------------------------------------------------------------------------------------------------------

    def _members(self, node: ast.ClassDef, place: _Place) -> None:
        """Members of ``self`` that methods use and that neither the class nor its bases in this file have."""
        bases, own = self._ancestors(node)
        if not bases:
            return
        for function in (
            statement for statement in node.body if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        ):
            if not function.args.args:
                continue
            me = function.args.args[0].arg
            guards = self._guards_of(function)
            for child in self._walk(function):
                if not isinstance(child, ast.Attribute) or not isinstance(child.ctx, ast.Load) or child.attr in own:
                    continue
                mine = isinstance(child.value, ast.Name) and child.value.id == me
                above = isinstance(child.value, ast.Call) and _last(child.value.func) == "super"
                if (mine or above) and not child.attr.startswith("__"):
                    there = replace(place, called=True, guarded=place.guarded or id(child) in guards)
                    for base in bases:
                        self._take(base.module, f"{base.name}.{child.attr}", child.lineno, there)

    def _ancestors(self, node: ast.ClassDef) -> tuple[list[_Origin], set[str]]:
        """The classes of the package among the bases of a class, and the members that the file gives it.

        There are none if a base is not known, or is the class itself.
        """
        origins: list[_Origin] = []
        own: set[str] = set()
        done: set[str] = set()

        def collect(definition: ast.ClassDef, below: tuple[str, ...]) -> bool:
            self._step()
            own.update(self._members_of(definition))
            for base in definition.bases:
                origin = self._origin_of(base)
                name = base.id if isinstance(base, ast.Name) else ""
                if origin is not None:
                    origins.append(origin)
                elif name not in self.classes or name in below or len(done) == _ANCESTORS:
                    return False
                elif name not in done:
                    done.add(name)
                    if not collect(self.classes[name], (*below, name)):
                        return False
            return True

        return (origins if collect(node, (node.name,)) else []), own

    def _members_of(self, node: ast.ClassDef) -> frozenset[str]:
        """The members that the body of a class, and its methods, define."""
        if node not in self._own:
            own = {
                statement.name
                for statement in node.body
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            }
            for child in self._walk(node):
                if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
                    own.add(child.attr)
                elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                    own.add(child.id)
            self._own[node] = frozenset(own)
        return self._own[node]

    def _guards_of(self, function: _Function) -> set[int]:
        """The nodes of a function below an `if` or a `try` that continues, or behind `and` and `or`."""
        guarded: set[int] = set()
        waiting: list[tuple[ast.AST, bool]] = [(function, False)]
        while waiting:
            self._step()
            node, is_guarded = waiting.pop()
            if is_guarded:
                guarded.add(id(node))
            parts = {id(part) for part in _guarded_parts(node)}
            waiting += [(child, is_guarded or id(child) in parts) for child in ast.iter_child_nodes(node)]
        return guarded

    # ------------------------------------------------------------------------------------------------------------------

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        for below in ast.walk(node):
            self._step()
            yield below

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise TooMuch(f"more than {_STEPS} steps")

    def _take(self, module: str, name: str, line: int, place: _Place) -> None:
        if not name.startswith("__"):
            self.found.append(Taken(module, name, line, place.called, place.guarded, place.instead_of))


def _origins(tree: ast.Module) -> dict[str, _Origin]:
    origins_of: dict[str, set[_Origin]] = {}
    others: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                origin = _Origin(alias.name if alias.asname else PACKAGE)
                if _is_ours(alias.name):
                    origins_of.setdefault(name, set()).add(origin)
                else:
                    others[name] += 1
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if not node.level and _is_ours(node.module or ""):
                    origins_of.setdefault(alias.asname or alias.name, set()).add(_Origin(node.module or "", alias.name))
                else:
                    others[alias.asname or alias.name] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            others[node.name] += 1
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others[node.id] += 1
        elif isinstance(node, ast.arg):
            others[node.arg] += 1
        elif isinstance(node, ast.ExceptHandler) and node.name:
            others[node.name] += 1
    return {name: origins.pop() for name, origins in origins_of.items() if len(origins) == 1 and not others[name]}


def _guarded_parts(node: ast.AST) -> Sequence[ast.AST]:
    """The parts of a statement or an expression that are executed only under a condition."""
    if isinstance(node, ast.If):
        return [*node.body, *node.orelse]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values[1:]
    if isinstance(node, ast.Try) and any(_forgives(handler) for handler in node.handlers):
        return [*node.body, *node.handlers]
    return []


def _guarded(place: _Place) -> _Place:
    return replace(place, guarded=True)


def _forgives(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _last(kind) in _FORGIVING for kind in kinds)


def _last(node: Optional[ast.AST]) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
