"""Semantic patches: a piece of Python that a function has, and the piece that it should have.

A pattern is an expression or one or more statements. It matches syntax, not text: layout, comments and quotes do not
count. A name in capitals that begins with two underscores (``__X``) is a placeholder: it matches any expression, and
the same name matches the same expression. In the new piece it is that expression again. Among arguments or elements,
``*__REST`` matches any number of them, and ``**__REST`` any number of keyword arguments. On a line of its own inside a
block, ``*__REST`` matches any number of statements. A list may have one of them.

    Rewrite("s_aux.to(__D)", "s_aux.to(__D) if s_aux is not None else None")

Code that already is the new piece does not match, even if the new piece contains the old one, as here.

In tracebacks, new code has the line of the code that it replaces; statements that only move keep their lines. Removed
statements leave a ``pass``.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

from ._support import parsing

_PLACEHOLDER = re.compile(r"__[A-Z]([A-Z0-9_]*[A-Z0-9])?$")
_NOT_COMPARED = {"ctx", "kind", "type_comment"}
_NAMING = {"id", "attr", "arg", "name"}


class Rewrite:
    """Pieces of source, each with its replacement.

    Args:
        old: the wrong code, as Python: one piece or several.
        new: the right code; as many pieces.
        beside: further pieces that must occur in the same source, or in a definition that is judged with it. They do
            not change.
        alternatives: whether the pieces are forms of the same code in several releases, so that one is enough; else all
            of them must occur.
        unless: pieces that do not occur as long as the code is wrong; none of them may occur.

    Attributes:
        prefilter: a word in every source in which `old` occurs; empty if there is none.

    Raises:
        SyntaxError: a piece is not Python.
        ValueError: `old` and `new` have different numbers of pieces, a new piece has a placeholder that its old piece
            lacks, or a placeholder for any number is where none is allowed.
    """

    def __init__(
        self,
        old: Union[str, Sequence[str]],
        new: Union[str, Sequence[str]],
        beside: Union[str, Sequence[str]] = (),
        alternatives: bool = False,
        unless: Union[str, Sequence[str]] = (),
    ) -> None:
        self.old, self.new, self.beside, self.unless = (
            (given,) if isinstance(given, str) else tuple(given) for given in (old, new, beside, unless)
        )
        if len(self.old) != len(self.new):
            raise ValueError(
                f"{len(self.old)} old pieces and {len(self.new)} new ones; give one new piece for each old piece"
            )
        self.alternatives = alternatives
        self.pieces = tuple(_Piece(*pair) for pair in zip(self.old, self.new))
        self._beside = tuple(map(_Piece, self.beside))
        self._unless = tuple(map(_Piece, self.unless))
        together = set.intersection if alternatives else set.union
        self.prefilter = max(sorted(together(*(piece.words for piece in self.pieces))), key=len, default="")

    def occurs_in(self, *nodes: ast.AST) -> bool:
        """Whether the pieces occur somewhere in these trees: each of them, or one of several alternatives."""
        enough = any if self.alternatives else all
        if any(_occurs(piece, nodes) for piece in self._unless):
            return False
        return enough(_occurs(piece, nodes) for piece in self.pieces) and all(
            _occurs(piece, nodes) for piece in self._beside
        )

    def may_occur_in(self, text: str) -> bool:
        """Whether the pieces can occur in the source once it is parsed: whether it contains their names."""
        enough = any if self.alternatives else all
        return enough(piece.may_occur_in(text) for piece in self.pieces) and all(
            piece.may_occur_in(text) for piece in self._beside
        )

    def apply(self, tree: Any, choose: Optional[Callable[[Any, Any], Any]] = None) -> tuple[Any, list[int]]:
        """Change a tree in place.

        Args:
            tree: the source.
            choose: takes the matching expression or statements and the new piece, and returns the replacement. Without
                it, that is the new piece.

        Returns:
            The tree, and the number of matches of each piece; one number for all of them if they are alternatives.
        """
        counts = []
        for piece in self.pieces:
            search = _Search(piece, change=True, choose=choose)
            tree = search.through(tree)
            counts.append(search.matches)
        return tree, [sum(counts)] if self.alternatives else counts

    def __repr__(self) -> str:
        return f"Rewrite({self.old!r}, {self.new!r})"


def occurs(piece: str, *nodes: ast.AST) -> bool:
    """Whether a piece of source occurs somewhere in these trees: for matchers."""
    return _occurs(_Piece(piece), nodes)


# ---------------------------------------------------------------------------------------------------------------------
# Below: one piece.


class _Piece:
    """One piece, parsed.

    Args:
        old: the piece to find.
        new: its replacement; None for a piece that only has to occur.
    """

    def __init__(self, old: str, new: Optional[str] = None) -> None:
        self.old, self.new = _parsed(old), _parsed(new or "")
        if not self.old:
            raise ValueError("an old piece is empty; write the code that it matches")
        # An expression matches anywhere; `new` is then an expression, too.
        self.expression = _only_expression(self.old)
        if new is not None and _only_expression(self.new) is None:
            self.expression = None
        placeholders, self.words, is_crowded = _names_in(self.old)
        in_new, new_words, _ = _names_in(self.new)
        unknown = in_new - placeholders
        if unknown:
            raise ValueError(
                f"the new piece {new!r} has {', '.join(sorted(unknown))}, which the old piece {old!r} lacks"
            )
        if any(_rest(statement) for statement in (*self.old, *self.new)):
            raise ValueError(f"{old!r}: a placeholder for any number of statements is allowed only inside a block")
        if is_crowded:
            raise ValueError(f"{old!r} has two placeholders for any number in one list")
        # Whether code that matches the old piece may be part of the new piece, and then must not match. If the old
        # piece itself has the form of the new one, as when two arguments change places, they cannot be distinguished.
        self.contained = False
        if self.words <= new_words and _occurs(self, [ast.Module(body=self.new, type_ignores=[])]):
            self.contained = not _same(self.new, self.old, {})

    def may_occur_in(self, text: str) -> bool:
        """Whether a text contains all names of the old piece."""
        return all(word in text for word in self.words)


def _occurs(piece: _Piece, nodes: Sequence[ast.AST]) -> bool:
    search = _Search(piece, change=False)
    for node in nodes:
        search.through(node)
    return search.matches > 0


class _Search:
    """Finds a piece everywhere in a tree, and replaces it if `change` is set.

    It does not search new code: the new piece may contain the old one.
    """

    def __init__(self, piece: _Piece, change: bool, choose: Optional[Callable[[Any, Any], Any]] = None) -> None:
        self.piece = piece
        self.change = change
        self.choose = choose or (lambda old, new: new)
        self.matches = 0

    def through(self, node: Any) -> Any:
        """The node, or its replacement."""
        wanted = self.piece.expression
        if wanted is None and isinstance(node, ast.expr):
            return node  # an expression has no statements
        if wanted is not None and isinstance(node, ast.expr):
            bound: dict[str, Any] = {}
            new_one = _only_expression(self.piece.new)
            if self.piece.contained and _same(new_one, node, {}):
                return node
            if _same(wanted, node, bound):
                self.matches += 1
                return self.choose(node, _built(new_one, bound, node)) if self.change else node
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                new: Any = self.through(value)
            elif not isinstance(value, list) or not value:
                continue
            elif wanted is None and isinstance(value[0], ast.stmt):
                new = self._block(value)
            else:
                new = [self.through(element) if isinstance(element, ast.AST) else element for element in value]
            if self.change and new is not value:
                setattr(node, field, new)
        return node

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """A block in which every sequence of the statements of the piece is replaced."""
        made: list[ast.stmt] = []
        while block:
            bound: dict[str, Any] = {}
            if self.piece.contained and _begin(block, self.piece.new, {}):
                taken = len(self.piece.new)
                made += block[:taken]
            elif _begin(block, self.piece.old, bound):
                self.matches += 1
                taken = len(self.piece.old)
                made += self._in_place_of(block[:taken], bound) if self.change else block[:taken]
            else:
                taken = 1
                made.append(self.through(block[0]))
            block = block[taken:]
        return made

    def _in_place_of(self, window: list[ast.stmt], bound: dict[str, Any]) -> list[ast.stmt]:
        new = [_built(statement, bound, window[0], window) for statement in self.piece.new]
        chosen = self.choose(window, new or [ast.copy_location(ast.Pass(), window[0])])
        return chosen if isinstance(chosen, list) else [chosen]


def _begin(block: list[ast.stmt], pattern: list[ast.stmt], bound: dict[str, Any]) -> bool:
    """Whether a block begins with the statements of a pattern."""
    return len(block) >= len(pattern) and all(_same(a, b, bound) for a, b in zip(pattern, block))


def _kept(new: ast.stmt, bound: dict[str, Any], window: Sequence[ast.stmt]) -> Optional[ast.stmt]:
    """The statement of the source that is equal to this one, at any depth, so that it keeps its lines."""
    inside = (node for statement in window for node in ast.walk(statement) if isinstance(node, ast.stmt))
    return copy.deepcopy(next((statement for statement in inside if _same(new, statement, dict(bound))), None))


def _same(pattern: Any, node: Any, bound: dict[str, Any]) -> bool:
    """Whether a piece of source matches a pattern; the matches of the placeholders go into `bound`."""
    name = _placeholder(pattern)
    if name and isinstance(node, ast.expr):
        if name in bound:
            return _same(bound[name], node, {})
        bound[name] = node
        return True
    if isinstance(pattern, ast.AST):
        if type(pattern) is not type(node):
            return False
        return all(
            _same(value, getattr(node, field, None), bound)
            for field, value in ast.iter_fields(pattern)
            if field not in _NOT_COMPARED
        )
    if isinstance(pattern, list):
        return isinstance(node, list) and _same_list(pattern, node, bound)
    return type(pattern) is type(node) and bool(pattern == node)


def _same_list(pattern: list[Any], nodes: list[Any], bound: dict[str, Any]) -> bool:
    number = next((number for number, statement in enumerate(pattern) if _rest(statement)), None)
    if number is None:
        return len(pattern) == len(nodes) and all(_same(a, b, bound) for a, b in zip(pattern, nodes))
    any_number = len(nodes) - (len(pattern) - 1)
    if any_number < 0:
        return False
    rest, others = _rest(pattern[number]), [*pattern[:number], *pattern[number + 1 :]]
    matched = nodes[number : number + any_number]
    if rest in bound and not _same(bound[rest], matched, {}):
        return False
    bound[rest] = matched
    return all(_same(a, b, bound) for a, b in zip(others, [*nodes[:number], *nodes[number + any_number :]]))


def _built(new: Any, bound: dict[str, Any], at: ast.AST, window: Sequence[ast.stmt] = ()) -> Any:
    """The new piece with its placeholders filled in; the rest has the line of `at`.

    Statements that also occur in the replaced window are taken from there.
    """
    name = _placeholder(new)
    if name in bound:
        return copy.deepcopy(bound[name])
    if isinstance(new, list):
        built: list[Any] = []
        for statement in new:
            rest = _rest(statement)
            built += copy.deepcopy(bound[rest]) if rest in bound else [_built(statement, bound, at, window)]
        return built
    if not isinstance(new, ast.AST):
        return new
    if isinstance(new, ast.stmt) and (kept := _kept(new, bound, window)):
        return kept
    fields = {field: _built(value, bound, at, window) for field, value in ast.iter_fields(new)}
    return ast.copy_location(type(new)(**fields), at)


# ---------------------------------------------------------------------------------------------------------------------
# Below: helpers.


def _parsed(text: str) -> list[ast.stmt]:
    text = textwrap.dedent(text).strip("\n")
    try:
        return parsing.parse(text).body
    except SyntaxError:
        # `return`, `break` and the like parse anywhere, so this is a real error.
        raise SyntaxError(f"not Python: {text!r}") from None


def _only_expression(statements: list[ast.stmt]) -> Optional[ast.expr]:
    only = statements[0] if len(statements) == 1 else None
    return only.value if isinstance(only, ast.Expr) else None


def _placeholder(node: Any) -> str:
    return node.id if isinstance(node, ast.Name) and _PLACEHOLDER.match(node.id) else ""


def _rest(node: Any) -> str:
    """The name of a placeholder for any number of arguments, elements or statements."""
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Starred):
        return _placeholder(node.value)
    if isinstance(node, ast.keyword) and node.arg is None:
        return _placeholder(node.value)
    return ""


def _names_in(piece: list[ast.stmt]) -> tuple[set[str], set[str], bool]:
    """The names in a piece.

    Returns:
        The placeholders; the other names, which every source with the piece contains letter by letter; and whether some
        list has two placeholders for any number.
    """
    placeholders, words, is_crowded = set(), set(), False
    left: list[Any] = [piece]
    while left:
        current = left.pop()
        if isinstance(current, list):
            is_crowded = is_crowded or sum(bool(_rest(each)) for each in current) > 1
            left += current
            continue
        for field in getattr(current, "_fields", ()):
            value = getattr(current, field, None)
            if field in _NAMING and isinstance(value, str):
                if not _PLACEHOLDER.match(value):
                    words.add(value)
                elif field == "id":
                    placeholders.add(value)
            elif field not in _NOT_COMPARED:
                left.append(value)
    return placeholders, words, is_crowded
