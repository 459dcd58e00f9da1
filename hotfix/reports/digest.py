"""Digests of our own code: a new version of a cure gives a new patch set."""

from __future__ import annotations

import ast
import hashlib
import json
import textwrap
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Optional

from .._support.memo import memo
from ..fix import Addition, Fix
from ..pattern import Rewrite
from ..versions import source
from ..versions.verdict import read_installed

_LENGTH = 12  # hexadecimal digits
_HOME = Path(__file__).parents[1]
_PACKAGE = "hotfix"

RECORDED = _HOME / "versions" / "cures.json"
"""The digests of our own cures; ``python -m tools.sweep --index`` writes them."""

# Modules that a cure may import but that are not part of it: the library that runs it.
_LIBRARY = (
    "asking",
    "engine",
    "patching",
    "pattern",
    "fix",
    "_target",
    "errors",
    "_support",
    "session",
    "versions",
    "reports",
)
_NEVER_IN_A_CURE = ("commands", "proofs", "triggers")
_PROOF = {"case", "recognises"}

# Arguments of a fix that no proof depends on, unless its module reads them (``FIX.errors``).
_SAID = {"title", "upstream", "fixed_in", "errors", "everyone"}
_NAME = {"id"}  # the name of the module

# The code that runs a case; and, in a proof, an import of torch, which means the same at the top and in a function.
_BESIDE_A_PROOF = "hotfix.proofs.testbed"
_IN_EVERY_PROOF = "torch"


def patch_set_digest(patches: Iterable[str]) -> str:
    """The short name of a patch set: 12 hexadecimal digits."""
    return hashlib.sha256("\n".join(patches).encode()).hexdigest()[:_LENGTH]


def cure_digest(fix: Fix, module: str = "") -> str:
    """Digest of all code that a cure runs, including helpers in other modules.

    The report of the bug, the matcher and the proof do not count.

    Args:
        fix: the fix.
        module: the module that declares it, if a recorded digest will do: `RECORDED` has those of our own fixes, and
            holds as long as no file of a cure has changed. To compute the digests of all takes 0.2 s.
    """
    return (_recorded().get(fix.id) if module.startswith(f"{_PACKAGE}.") else None) or _computed(fix)


def sources_digest() -> str:
    """Digest of the files of all cures, byte by byte."""
    digest = hashlib.sha256()
    for path in sorted(_HOME.rglob("*.py")):
        place = path.relative_to(_HOME)
        if len(place.parts) > 1 and place.parts[0] not in (*_LIBRARY, *_NEVER_IN_A_CURE):
            digest.update(f"{place.as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@memo
def _recorded() -> dict[str, str]:
    """The recorded digests by id of the fix; none if they are of other files."""
    try:
        record = json.loads(RECORDED.read_text(encoding="utf-8"))
        cures: dict[str, str] = record["cures"] if record["sources"] == sources_digest() else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return cures


def _computed(fix: Fix) -> str:
    implementations = {id(target.implementation): target.implementation for target in (*fix.targets, *fix.companions)}
    implementations = {
        id: implementation
        for id, implementation in implementations.items()
        if not isinstance(implementation, Addition) or implementation.home
    }
    parts = {
        _rewrite_digest(implementation.old, implementation.new)
        if isinstance(implementation, Rewrite)
        else code_digest(implementation.home if isinstance(implementation, Addition) else implementation.__module__)
        for implementation in implementations.values()
    }
    parts.update(_condition_digest(target.condition.pieces) for target in fix.targets if target.condition.pieces)
    return patch_set_digest(sorted(parts))


@memo
def code_digest(module: str, proof: bool = False) -> str:
    """Digest of a module and of the names that it uses from other modules of its package.

    Args:
        module: name of the module. Every definition counts except the declaration, the matcher and the proof of a fix.
        proof: whether these count as well, except descriptive arguments of the declaration (`_SAID`) and imports of
            torch, which may be at the top or in a function.
    """
    return source.digest_of(*_texts(_reached(module, proof=proof), proof))


@memo
def _rewrite_digest(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    reached: set[tuple[str, int]] = set()
    for text in new:
        for name, wanted in _used_in_text("", text, "hotfix"):
            reached.update(_reached(name, wanted))
    pieces = [source.canonical(source.parse(textwrap.dedent(text))) for text in (*old, *new)]
    return source.digest_of(*pieces, *_texts(reached))


@memo
def _condition_digest(pieces: tuple[str, ...]) -> str:
    reached: set[tuple[str, int]] = set()
    for text in pieces:
        for name, wanted in _used_in_text("", text, "hotfix"):
            reached.update(_reached(name, wanted))
    return source.digest_of(*pieces, *_texts(reached))


# ---------------------------------------------------------------------------------------------------------------------
# Below: the statements that a cure reaches.


def _reached(module: str, wanted: str = "*", proof: bool = False) -> set[tuple[str, int]]:
    """The statements that define a name of a module (``*``: all) and the names it uses, as modules and numbers."""
    package = module.partition(".")[0]
    reached: set[tuple[str, int]] = set()
    left = [(module, wanted)]
    seen: set[tuple[str, str]] = set()
    while left:
        name, wanted = left.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        every, numbers = _statements(name, proof), _numbers(name, proof)
        for number in range(len(every)) if wanted == "*" else numbers.get(wanted, ()):
            if (name, number) not in reached:
                if not isinstance(every[number], (ast.Import, ast.ImportFrom)):
                    reached.add((name, number))
                left += _used_by(name, number, proof, package)
    return reached


def _texts(reached: Iterable[tuple[str, int]], proof: bool = False) -> list[str]:
    return [_text(*place, proof) for place in sorted(reached)]


@memo
def _text(module: str, number: int, proof: bool) -> str:
    statement = _statements(module, proof)[number]
    if proof and any(isinstance(node, ast.Import) for node in ast.walk(statement)):
        statement = _WithoutTorch().visit(deepcopy(statement))
    return source.canonical(statement)  # cached, since cures share their helpers


@memo
def _numbers(module: str, proof: bool) -> dict[str, list[int]]:
    """The statements of a module that define each name; cached, since all cures use the same helpers."""
    numbers: dict[str, list[int]] = {}
    for number, statement in enumerate(_statements(module, proof)):
        for name in _defined(statement):
            numbers.setdefault(name, []).append(number)
    return numbers


@memo
def _used_by(module: str, number: int, proof: bool, package: str) -> list[tuple[str, str]]:
    return list(dict.fromkeys(_used(module, _statements(module, proof)[number], package)))


@memo
def _every_statement(module: str) -> list[ast.stmt]:
    text = read_installed(module)
    body = [] if text is None else source.without_docstring(source.parse(text).body)
    return [statement for statement in body if not _is_for_types(statement)]


@memo
def _statements(module: str, proof: bool) -> list[ast.stmt]:
    every = _every_statement(module)
    if not proof:
        return [statement for statement in every if not _is_beside_the_cure(statement)]
    attributes = (node for statement in every for node in ast.walk(statement) if isinstance(node, ast.Attribute))
    read = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "FIX"}
    return [
        _without(_NAME | (_SAID - read), statement) if _is_declaration(statement) else statement for statement in every
    ]


def _without(names: set[str], declaration: ast.stmt) -> ast.stmt:
    """The declaration of a fix without some of its arguments; a copy, because the parsed tree is shared."""
    value = declaration.value if isinstance(declaration, ast.Assign) else None
    if not isinstance(declaration, ast.Assign) or not isinstance(value, ast.Call):
        return declaration
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    on_error = given.get("on_error")
    if isinstance(on_error, ast.Constant) and on_error.value is True and "errors" in given:
        given["on_error"] = given["errors"]  # what it means
    kept = [ast.keyword(name, of) for name, of in given.items() if name not in names]
    call = ast.copy_location(ast.Call(value.func, value.args, kept), value)
    return ast.copy_location(ast.Assign(declaration.targets, call), declaration)


class _WithoutTorch(ast.NodeTransformer):
    """Removes every ``import torch``."""

    def visit_Import(self, node: ast.Import) -> Optional[ast.Import]:
        names = [(alias.name, alias.asname) for alias in node.names]
        return None if names == [(_IN_EVERY_PROOF, None)] else node


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _is_beside_the_cure(node: ast.stmt) -> bool:
    decorators = getattr(node, "decorator_list", [])
    called = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in decorators]
    names = {function.attr for function in called if isinstance(function, ast.Attribute)}
    return _is_declaration(node) or bool(names & _PROOF)


def _is_declaration(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any("FIX" in ast.dump(target) for target in node.targets)


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _used(module: str, statement: ast.stmt, package: str) -> Iterator[tuple[str, str]]:
    """The names in this module, and those in others of the package, that a statement uses."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield module, node.id
        elif isinstance(node, ast.ImportFrom):
            for origin in _origins(module, node):
                for alias in node.names:
                    for name, wanted in ((origin, alias.name), (f"{origin}.{alias.name}", "*")):
                        if _is_neighbour(name, package):
                            yield name, wanted
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "*") for alias in node.names if _is_neighbour(alias.name, package))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
            yield from _used_in_text(module, node.value, package)


def _origins(module: str, node: ast.ImportFrom) -> Iterator[str]:
    """The module that an import reads; two candidates if it is relative, since a package counts dots from itself."""
    if not node.level:
        yield node.module or ""
        return
    parts = module.split(".")
    for kept in (len(parts) - node.level, len(parts) - node.level + 1):
        yield ".".join([*parts[: max(kept, 0)], *filter(None, [node.module])])


def _used_in_text(module: str, text: str, package: str) -> Iterator[tuple[str, str]]:
    """The same for statements in source text that an edit inserts."""
    try:
        tree = source.parse(textwrap.dedent(text))
    except SyntaxError:
        return
    for node in ast.walk(tree):  # an import may be under a condition
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _used(module, node, package)


def _is_neighbour(module: str, package: str) -> bool:
    parts = module.split(".")
    if f"{module}.".startswith(f"{_BESIDE_A_PROOF}."):
        return False
    return parts[0] == package and not (package == "hotfix" and (len(parts) == 1 or parts[1] in _LIBRARY))
