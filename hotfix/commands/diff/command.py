"""``hotfix diff``: the difference between the installed functions and the repaired ones.

Computed from the installed source, without importing or changing anything, with the lines of the user's own files.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
from collections.abc import Iterator
from difflib import unified_diff
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ...fix import Fix, Target
    from ...versions.source import Found

HELP = "print how hotfix changes an installed function"
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
    from .. import screen

    shown = list(diffs(chosen.id, chosen.target))
    if chosen.json:
        screen.print_json([{"target": target, "diff": "\n".join(lines)} for target, lines in shown])
        return 0
    out = screen.Screen()
    if not shown:
        out.line(_nothing(chosen.id))
    for _, lines in shown:
        out.diff(lines)
    return 0


def diffs(id: str, pattern: str = "*") -> Iterator[tuple[str, list[str]]]:
    """The diff of each target that is broken here, by its name, and of the places that change together with it.

    Raises:
        CommandError: there is no such fix, or no such target.
    """
    from ... import session
    from ...versions import verdict
    from ...versions.judgement import Verdict
    from .. import CommandError, bugs

    entry = session.current().catalogue.entries.get(bugs.named(id).id)
    if entry is None:
        raise CommandError(f"{id} is a known bug that hotfix does not repair; `hotfix explain {id}` says more")
    fix = entry.load()
    matching = [target for target in fix.targets if fnmatchcase(str(target), pattern)]
    if not matching:
        raise CommandError(f"{id} has no target that matches {pattern!r}; it has {_names(fix)}")
    is_broken = False
    for target in matching:
        wildcard = "*" in target.module  # the module is known only at import
        if wildcard or verdict.judge_installed(fix, target).verdict is Verdict.BROKEN:
            is_broken = is_broken or not wildcard
            yield str(target), _diff(fix, target)
    for companion in fix.companions if is_broken else ():
        yield str(companion), _diff(fix, companion)


# ---------------------------------------------------------------------------------------------------------------------
# Below: one target, by its way.


def _diff(fix: Fix, target: Target) -> list[str]:
    from ...versions import installed, source
    from . import edited_text

    module, qualname = target.edited_name()
    spec = None if "*" in module else installed.find_spec(module)
    text = installed.source_of(spec) or ""
    original = source.find(text, qualname) if text else None
    name = (spec.origin if spec else None) or module
    if target.way.adds_name:
        return _added(fix, target, name)
    if target.way.is_around or original is None:
        return _around(fix, target, name, original)
    before = text.splitlines()
    first = original.lineno - 1
    last = first + len(original.text.splitlines())
    new = edited_text.edited(original, target, text) if target.way.edits_source else _replaced(target, original)
    after = [*before[:first], *new, *before[last:]]
    which = f"{fix.id}, around {target} only" if target.decorator else fix.id
    return list(unified_diff(before, after, name, f"{name} ({which})", lineterm=""))


def _around(fix: Fix, target: Target, name: str, original: Optional[Found]) -> list[str]:
    """A closure changes no line: its source is shown as an addition below the function that it wraps."""
    line = original.lineno + len(original.text.rstrip().splitlines()) - 1 if original else 0
    added = textwrap.dedent(inspect.getsource(target.implementation)).rstrip().splitlines()
    added = [line for line in added if not line.startswith("@")]
    kept = original.text.rstrip().splitlines()[-1:] if original else []
    head = f"@@ -{line},{len(kept)} +{line},{len(kept) + len(added)} @@ put around {target.qualname}"
    return [
        f"--- {name}",
        f"+++ {name} ({fix.id})",
        head,
        *(" " + line for line in kept),
        *("+" + line for line in added),
    ]


def _added(fix: Fix, target: Target, name: str) -> list[str]:
    """A name has no place in the file: its value, or the code that makes it, is shown at the top of the file."""
    addition = target.implementation
    if addition.leaf == target.module:
        text = textwrap.dedent(inspect.getsource(addition.value)).rstrip().splitlines()
        text = text[next(number for number, line in enumerate(text) if line.startswith(("def ", "class "))) :]
    else:
        text = [f"from {addition.leaf} import {target.qualname}"]
    head = f"@@ -0,0 +1,{len(text)} @@ {'made for' if addition.is_made else 'added as'} {target.qualname}"
    return [f"--- {name}", f"+++ {name} ({fix.id})", head, *("+" + line for line in text)]


def _replaced(target: Target, original: Found) -> list[str]:
    """The replacement, under the name of the target, in the place of the installed function."""
    text = textwrap.dedent(inspect.getsource(target.implementation))
    node = ast.parse(text).body[0]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ours = text.splitlines()[node.lineno - 1 :]
    ours[0] = ours[0].replace(f"def {node.name}", f"def {original.node.name}", 1)
    theirs = original.text.splitlines()
    decorators = theirs[: original.node.lineno - original.lineno]
    trailing = [line for line in theirs[len(original.text.rstrip().splitlines()) :] if not line.strip()]
    return [*decorators, *textwrap.indent("\n".join(ours), " " * original.node.col_offset).splitlines(), *trailing]


def _nothing(id: str) -> str:
    from ...engine.policy import Policy
    from ...reports.report import of_environment

    rows = of_environment(Policy(optin=("*",))).rows(id)
    return f"Nothing is changed here. {rows[0].verdict.value}: {rows[0].reason}" if rows else "Nothing is changed here."


def _names(fix: Fix) -> str:
    names = [target.qualname for target in fix.targets]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
