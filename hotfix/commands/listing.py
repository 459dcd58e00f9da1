"""``hotfix list``: the catalogue of known bugs."""

from __future__ import annotations

import argparse
import re

from .._support.words import KINDS

HELP = "the bugs that hotfix repairs, and with --all those that it does not"
EXAMPLES = (
    "hotfix list",
    "hotfix list --kind silent --all",
    "hotfix list --model Qwen2.5-VL",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--kind", choices=KINDS, help="only bugs of this kind")
    parser.add_argument(
        "--model", default="", help="only bugs in this model or module, by a part of its name as anybody writes it"
    )
    parser.add_argument("--all", action="store_true", help="also known bugs that hotfix does not repair")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import bugs, screen

    found = [
        bug
        for bug in bugs.known().values()
        if (chosen.all or bug.repaired)
        and chosen.kind in (None, bug.kind)
        and any(_is_about(chosen.model, where) for where in bug.where or ("",))
    ]
    found.sort(key=lambda bug: bug.kind != KINDS[0])  # what lets others in stands first
    if chosen.json:
        screen.print_json([bug.to_dict() for bug in found])
        return 0
    out = screen.Screen()
    if not found:
        what = (
            f"No known bug is in a model or module like {chosen.model!r}"
            if chosen.model
            else "No known bug is like that"
        )
        more = "" if chosen.all else " that hotfix repairs; --all looks at the others as well"
        out.line(f"{what}{more}.")
        return 0
    rows = [(one.id, one.kind, one.cure(), ", ".join(map(str, one.fixed_in)) or "-", one.title) for one in found]
    out.table(("bug", "kind", "hotfix", "fixed in", "what"), rows, cut=True)
    return 0


def _is_about(model: str, where: str) -> bool:
    """Whether a function is in a model: ``Qwen2.5-VL``, ``qwen2_5_vl`` and ``qwen25vl`` are one."""
    wanted = re.sub(r"[^a-z0-9]", "", model.lower())
    return any(wanted in re.sub(r"[^a-z0-9]", "", part) for part in re.split(r"[.:]", where.lower()))
