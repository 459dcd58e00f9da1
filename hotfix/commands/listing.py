"""``hotfix list``: the catalogue of known bugs.

In a pipe it is a table with a row for each bug. On a terminal the bugs are grouped by kind, in lines that fit. Without
a filter each kind gets a part of one screen.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

from .._support.words import KINDS

if TYPE_CHECKING:
    from packaging.version import Version

    from .bugs import Bug
    from .screen import Screen

HELP = "list the bugs that hotfix repairs; --all also lists those that it does not"
EXAMPLES = (
    "hotfix list",
    "hotfix list gradient accumulation",
    "hotfix list --kind silent --release 4.49.0",
    "hotfix list --model Qwen2.5-VL --all",
)
_LINES = 40
_ID = 45  # characters of an id that are shown on a terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only bugs with all these words in id, title or errors"
    )
    parser.add_argument("--kind", choices=KINDS, help="only bugs of this kind")
    parser.add_argument(
        "--model", default="", help="only bugs in this model or module, by a part of its name in any spelling"
    )
    parser.add_argument("--release", default="", metavar="4.49.0", help="only bugs of this release of transformers")
    parser.add_argument("--default", choices=("on", "off"), help="only bugs whose repair is on, or off, by default")
    parser.add_argument("--all", action="store_true", help="also known bugs that hotfix does not repair")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import bugs, screen

    release = _release(chosen.release)
    matches = [
        bug
        for bug in bugs.known().values()
        if (chosen.all or bug.repaired)
        and chosen.kind in (None, bug.kind)
        and (chosen.default is None or (bug.repaired and bug.optin == (chosen.default == "off")))
        and (release is None or bug.is_in(release))
        and any(_is_about(chosen.model, where) for where in bug.where or ("",))
        and all(word.lower() in _text(bug) for word in chosen.words)
    ]
    matches.sort(key=lambda bug: KINDS.index(bug.kind))
    if chosen.json:
        screen.print_json([bug.to_dict() for bug in matches])
        return 0
    out = screen.Screen()
    if not matches:
        where = f" in a model or module like {chosen.model!r}" if chosen.model else ""
        if chosen.all:
            out.line(f"No known bug{where} matches.")
        else:
            out.line(f"No bug that hotfix repairs{where} matches; --all includes those that it does not repair.")
    elif out.width is None:
        rows = [(bug.id, bug.kind, bug.cure(), ", ".join(map(str, bug.fixed_in)) or "-", bug.title) for bug in matches]
        out.table(("bug", "kind", "hotfix", "fixed in", "what"), rows)
    else:
        _print_groups(out, out.width, matches)
    return 0


def _print_groups(out: Screen, width: int, matches: Sequence[Bug]) -> None:
    """Print the bugs, grouped by kind, each in one line of the screen."""
    groups: dict[str, list[Bug]] = {}
    for bug in matches:
        groups.setdefault(bug.kind, []).append(bug)
    shown = _shares(groups)
    longest = min(_ID, width // 2, max(len(bug.id) for bug in matches))
    for kind, group in groups.items():
        out.line(f"{kind}: {len(group)}", "bold")
        for bug in group[: shown[kind]]:
            id = bug.id if len(bug.id) <= longest else f"{bug.id[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"
            note = "(opt-in) " * bug.optin if bug.repaired else "(not repaired) "
            line = f"  {id:{longest}}  {note}{bug.title}"
            out.row(line if len(line) <= width else f"{line[: width - 1]}\N{HORIZONTAL ELLIPSIS}")
    if sum(shown.values()) < len(matches):
        out.line(
            f"{len(matches) - sum(shown.values())} more: `hotfix list WORD...`, --kind, --model and --release choose; "
            "with `| less` behind it the command lists all."
        )


def _shares(groups: Mapping[str, Sequence[Bug]]) -> dict[str, int]:
    """The number of bugs of each kind that fit on a screen."""
    room = _LINES - len(groups) - 4  # headings; the last sentence, and the prompt
    shown = dict.fromkeys(groups, 0)
    while room and any(shown[kind] < len(group) for kind, group in groups.items()):
        for kind, group in groups.items():
            if room and shown[kind] < len(group):
                shown[kind] += 1
                room -= 1
    return shown


def _release(text: str) -> Optional[Version]:
    from packaging.version import InvalidVersion, Version

    from . import CommandError, bugs

    if not text:
        return None
    try:
        return bugs.counts_as(Version(text))
    except InvalidVersion:
        raise CommandError(f"--release {text}: not a version; write it like 4.49.0") from None


def _text(bug: Bug) -> str:
    return " ".join((bug.id, bug.kind, bug.title, *bug.errors, *bug.names, *bug.where, *bug.refs)).lower()


def _is_about(model: str, where: str) -> bool:
    """Whether a function is in a model: ``Qwen2.5-VL``, ``qwen2_5_vl`` and ``qwen25vl`` are the same."""
    wanted = re.sub(r"[^a-z0-9]", "", model.lower())
    return any(wanted in re.sub(r"[^a-z0-9]", "", part) for part in re.split(r"[.:]", where.lower()))
