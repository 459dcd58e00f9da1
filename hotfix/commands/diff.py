"""``hotfix diff``: what differs between the installed functions and the repaired ones.

Computed from the installed source, without importing or changing anything, with the lines of the user's own files.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ..fix import Fix, Target
    from ..versions.source import Found

HELP = "what differs between an installed function and the repaired one"
EXAMPLES = (
    "hotfix diff flash-rotary-dtype",
    "hotfix diff fa2-right-padding-check --target '*Qwen2Model*'",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", help="id of the fix")
    parser.add_argument("--target", default="*", metavar="PATTERN", help="only targets whose name matches")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import screen

    found = list(diffs(chosen.id, chosen.target))
    if chosen.json:
        screen.print_json([{"target": target, "diff": "\n".join(lines)} for target, lines in found])
        return 0
    out = screen.Screen()
    if not found:
        out.line(_nothing(chosen.id))
    for _, lines in found:
        out.diff(lines)
    return 0


def diffs(id: str, pattern: str = "*") -> Iterator[tuple[str, list[str]]]:
    """The diff of each target that is broken here, by its name, and of what changes along with it.

    Raises:
        CommandError: there is no such fix, or no such target.
    """
    from .. import session
    from ..versions import verdict
    from ..versions.verdict import Verdict
    from . import CommandError, bugs

    entry = session.current().catalogue.entries.get(bugs.named(id).id)
    if entry is None:
        raise CommandError(f"{id} is a known bug that hotfix does not repair; `hotfix explain {id}` says more")
    fix = entry.load()
    matching = [target for target in fix.targets if fnmatchcase(str(target), pattern)]
    if not matching:
        raise CommandError(f"{id} has no target that matches {pattern!r}; it has {_names(fix)}")
    found = False
    for target in matching:
        wildcard = "*" in target.module  # which module that is shows when it is imported
        if wildcard or verdict.judge_installed(fix, target).verdict is Verdict.BROKEN:
            found = found or not wildcard
            yield str(target), _diff(fix, target)
    for companion in fix.companions if found else ():
        yield str(companion), _diff(fix, companion)


# ---------------------------------------------------------------------------------------------------------------------
# Below: one target, by its instrument.


def _diff(fix: Fix, target: Target) -> list[str]:
    from ..versions import installed, source

    module, qualname = target.edited_name()
    spec = None if "*" in module else installed.find_spec(module)
    text = installed.source_of(spec) or ""
    found = source.find(text, qualname) if text else None
    name = (spec.origin if spec else None) or module
    if target.method == "wrap" or found is None:
        return _around(fix, target, name, found)
    before = text.splitlines()
    first = found.lineno - 1
    last = first + len(found.text.splitlines())
    new = _replaced(target, found) if target.method == "replace" else _edited(target, found, before)
    after = [*before[:first], *new, *before[last:]]
    which = f"{fix.id}, around {target} only" if target.decorator else fix.id
    return list(unified_diff(before, after, name, f"{name} ({which})", lineterm=""))


def _around(fix: Fix, target: Target, name: str, found: Optional[Found]) -> list[str]:
    """A closure changes no line: its source is shown as added behind the function that it is put around."""
    line = found.lineno + len(found.text.rstrip().splitlines()) - 1 if found else 0
    added = textwrap.dedent(inspect.getsource(target.implementation)).rstrip().splitlines()
    added = [one for one in added if not one.startswith("@")]
    kept = found.text.rstrip().splitlines()[-1:] if found else []
    head = f"@@ -{line},{len(kept)} +{line},{len(kept) + len(added)} @@ put around {target.qualname}"
    return [f"--- {name}", f"+++ {name} ({fix.id})", head, *(" " + one for one in kept), *("+" + one for one in added)]


def _replaced(target: Target, found: Found) -> list[str]:
    """Our function, under the name of the target, where the installed one stands."""
    text = textwrap.dedent(inspect.getsource(target.implementation))
    node = ast.parse(text).body[0]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ours = text.splitlines()[node.lineno - 1 :]
    ours[0] = ours[0].replace(f"def {node.name}", f"def {found.node.name}", 1)
    theirs = found.text.splitlines()
    decorators = theirs[: found.node.lineno - found.lineno]
    trailing = [line for line in theirs[len(found.text.rstrip().splitlines()) :] if not line.strip()]
    return [*decorators, *textwrap.indent("\n".join(ours), " " * found.node.col_offset).splitlines(), *trailing]


def _edited(target: Target, found: Found, lines: Sequence[str]) -> list[str]:
    """The installed function with the edit made in its text: what is not edited stays as it is written."""
    from ..patching.code import Editor
    from . import CommandError

    places: list[tuple[Any, Any]] = []
    originals = {id(node) for node in ast.walk(found.node)}

    def recording(node: ast.AST) -> Any:
        new = target.implementation(node)
        if new is not None:
            places.append((node, new))
        return new

    alone = _only_statements(found.node)
    Editor(recording).visit(found.node)
    if len(places) != target.count:
        raise CommandError(f"{target}: the pattern of the edit matches {len(places)} times, not {target.count}")
    edited = list(lines)
    for node, new in reversed([_narrowed(*place) for place in places]):
        _put(edited, node, new, id(node) in alone, originals)
    first, last = found.lineno - 1, found.lineno - 1 + len(found.text.splitlines())
    return edited[first : len(edited) - (len(lines) - last)]


def _narrowed(node: ast.AST, new: Any) -> tuple[Any, Any]:
    """The smallest part of a node that the edit changes, a node or a block, and what takes its place."""
    if type(node) is not type(new):
        return node, new
    pairs: list[tuple[Any, Any]] = []
    for name, old in ast.iter_fields(node):
        now = getattr(new, name)
        if isinstance(old, list) and isinstance(now, list) and len(old) == len(now):
            pairs += zip(old, now)
        else:
            pairs.append((old, now))
    different = [pair for pair in pairs if _dumped(pair[0]) != _dumped(pair[1])]
    if len(different) == 1 and all(isinstance(one, (ast.expr, ast.stmt)) for one in different[0]):
        return _narrowed(*different[0])
    if len(different) == 1 and all(_is_block(one) for one in different[0]):
        return different[0]
    return node, new


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, ast.stmt) for one in value)


def _dumped(node: Any) -> str:
    return ast.dump(node) if isinstance(node, ast.AST) else repr(node)


def _put(lines: list[str], node: Any, new: Any, alone: bool, originals: set[int]) -> None:
    """Put what replaces a node or a block where it stands in the text. Columns are counted in bytes."""
    block = node if isinstance(node, list) else [node]
    first, last = block[0].lineno - 1, block[-1].end_lineno - 1
    if isinstance(block[0], ast.stmt):
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        put: list[str] = []
        for one in new if isinstance(new, list) else [new]:
            if id(one) in originals and one is not node:  # moved, and written as it was
                put += lines[one.lineno - 1 : one.end_lineno]
            else:
                put += textwrap.indent(ast.unparse(ast.fix_missing_locations(one)), indent).splitlines()
        lines[first : last + 1] = put or ([f"{indent}pass"] if alone else [])
        return
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    lines[first : last + 1] = [head + ast.unparse(ast.fix_missing_locations(new)) + tail]


def _only_statements(tree: ast.AST) -> set[int]:
    """The statements that are alone in their block, by identity: a block cannot be empty."""
    blocks = [block for node in ast.walk(tree) for _, block in ast.iter_fields(node) if isinstance(block, list)]
    return {id(block[0]) for block in blocks if len(block) == 1}


def _nothing(id: str) -> str:
    from ..engine.policy import Policy
    from ..reports.report import of_environment

    rows = of_environment(Policy(optin=("*",))).rows(id)
    return f"Nothing is changed here. {rows[0].verdict.value}: {rows[0].reason}" if rows else "Nothing is changed here."


def _names(fix: Fix) -> str:
    names = [target.qualname for target in fix.targets]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
