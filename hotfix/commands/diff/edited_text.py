"""The source of a function after an edit: unedited parts keep their layout.

An edit changes a syntax tree, without layout and comments. This module compares the two trees, and rewrites only
the smallest nodes that differ, in their place in the source.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from ...errors import Refusal
from ...fix import Target
from ...patching import code
from ...versions import source
from ...versions.source import Found
from .. import CommandError

Piece = tuple[Any, Any]
"""An expression, a statement or a block of statements, and its replacement."""


def edited(original: Found, target: Target, text: str) -> list[str]:
    """The lines of a definition after the edit of a target.

    Args:
        original: the definition.
        target: its method is ``edit``.
        text: of the whole module.

    Raises:
        CommandError: the edit does not match as often as declared.
    """
    try:
        after = code.edited_tree(ast.Module([copy.deepcopy(original.node)], []), target).body[0]
    except Refusal as refusal:
        raise CommandError(f"{target}: {refusal}") from None
    before, after = (_without_idle_pass(tree) for tree in (copy.deepcopy(original.node), after))
    lines = text.splitlines()
    for bracketed in (False, True):
        written = _written(original, _pieces(before, after), lines, bracketed)
        if _says("\n".join(written), after):
            return written
    # Several statements on one line, or an `elif`: such source cannot be changed in place.
    return textwrap.indent(ast.unparse(after), " " * original.node.col_offset).splitlines()


# ---------------------------------------------------------------------------------------------------------------------
# Below: the differences between two trees.


def _pieces(old: Any, new: Any) -> list[Piece]:
    """The smallest expressions, statements and blocks that differ."""
    if type(old) is not type(new) or isinstance(old, ast.JoinedStr):  # parts of an f-string have no place of their own
        return [(old, new)]
    pieces: list[Piece] = []
    for name, before in ast.iter_fields(old):
        after = getattr(new, name)
        if _dumped(before) == _dumped(after):
            continue
        if _is_block(before) and _is_block(after):
            pieces += _of_blocks(before, after)
        elif isinstance(before, ast.AST) and isinstance(after, ast.AST):
            pieces += _pieces(before, after)
        elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            pairs = [pair for pair in zip(before, after) if _dumped(pair[0]) != _dumped(pair[1])]
            pieces += [piece for pair in pairs for piece in _pieces(*pair)]
        else:
            return [(old, new)]
    whole = all(isinstance(side, (ast.expr, ast.stmt, list)) for piece in pieces for side in piece)
    return pieces if whole else [(old, new)]


def _of_blocks(old: list[ast.stmt], new: list[ast.stmt]) -> list[Piece]:
    pieces: list[Piece] = []
    matcher = SequenceMatcher(
        None, [_dumped(statement) for statement in old], [_dumped(statement) for statement in new], autojunk=False
    )
    for kind, first, last, begin, end in matcher.get_opcodes():
        if kind == "replace" and last - first == end - begin:
            pieces += [piece for pair in zip(old[first:last], new[begin:end]) for piece in _pieces(*pair)]
        elif kind == "insert":  # next to a statement that stays
            at = max(first - 1, 0)
            more = new[begin:end]
            pieces.append(([old[at]], [old[at], *more] if first else [*more, old[at]]))
        elif kind != "equal":
            pieces.append((old[first:last], new[begin:end]))
    return pieces


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(statement, ast.stmt) for statement in value)


def _dumped(node: Any) -> str:
    if isinstance(node, list):
        return repr([_dumped(element) for element in node])
    return ast.dump(node) if isinstance(node, ast.AST) else repr(node)


def _without_idle_pass(tree: Any) -> Any:
    """The tree without each ``pass`` that has other statements next to it; edits that delete statements leave them."""
    for node in ast.walk(tree):
        for name, block in ast.iter_fields(node):
            if _is_block(block) and len(block) > 1:
                rest = [statement for statement in block if not isinstance(statement, ast.Pass)]
                setattr(node, name, rest or block[:1])
    return tree


# ---------------------------------------------------------------------------------------------------------------------
# Below: the text. Columns are counted in bytes.


def _written(original: Found, pieces: Sequence[Piece], lines: Sequence[str], bracketed: bool) -> list[str]:
    changed = list(lines)
    as_they_stand = {_dumped(node): node for node in ast.walk(original.node) if isinstance(node, ast.stmt)}
    first, last = original.lineno - 1, original.lineno - 1 + len(original.text.splitlines())
    for old, new in sorted(pieces, key=lambda piece: _position(piece[0]), reverse=True):
        if isinstance(old, ast.expr):
            _put_expression(changed, old, new, bracketed)
        else:
            block = old if isinstance(old, list) else [old]
            _put_block(changed, block, new if isinstance(new, list) else [new], as_they_stand, lines)
    return changed[first : len(changed) - (len(lines) - last)]


def _position(node: Any) -> tuple[int, int]:
    first = node[0] if isinstance(node, list) else node
    return first.lineno, first.col_offset


def _put_expression(lines: list[str], old: Any, new: ast.expr, bracketed: bool) -> None:
    first, last = old.lineno - 1, old.end_lineno - 1
    text = ast.unparse(ast.fix_missing_locations(new))
    head = lines[first].encode()[: old.col_offset].decode()
    tail = lines[last].encode()[old.end_col_offset :].decode()
    lines[first : last + 1] = [f"{head}({text}){tail}" if bracketed else f"{head}{text}{tail}"]


def _put_block(
    lines: list[str], old: list[Any], new: list[Any], as_they_stand: dict[str, Any], text: Sequence[str]
) -> None:
    first, last = old[0].lineno - 1, old[-1].end_lineno - 1
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    put: list[str] = []
    for statement in new:
        same = as_they_stand.get(_dumped(statement))
        if same is not None:  # it moves, and stays as it was written
            put += _indented(text[same.lineno - 1 : same.end_lineno], indent)
        else:
            put += textwrap.indent(ast.unparse(ast.fix_missing_locations(statement)), indent).splitlines()
    lines[first : last + 1] = put


def _indented(lines: Sequence[str], indent: str) -> list[str]:
    before = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return [indent + line[len(before) :] if line.startswith(before) else line for line in lines]


def _says(text: str, wanted: ast.AST) -> bool:
    """Whether a text is the definition that is wanted."""
    indented = text[:1].isspace()  # not dedented, because strings may begin further left
    try:
        tree: Any = source.parse("if True:\n" * indented + text).body
    except SyntaxError:
        return False
    tree = tree[0].body if indented else tree
    return len(tree) == 1 and source.digest(_without_idle_pass(tree[0])) == source.digest(wanted)
