"""``hotfix list``: the catalogue of known bugs."""

from __future__ import annotations

import argparse

from ..fix import KINDS

HELP = "the bugs that hotfix repairs, and with --all those that it does not"
EXAMPLES = (
    "hotfix list",
    "hotfix list --kind silent --all",
    "hotfix list --model qwen2_5_vl",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--kind", choices=KINDS, help="only bugs of this kind")
    parser.add_argument("--model", default="", help="only bugs in this model or module, by a part of its name")
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
        and any(chosen.model.lower() in where.lower() for where in bug.where or ("",))
    ]
    found.sort(key=lambda bug: bug.kind != KINDS[0])  # what lets others in stands first
    if chosen.json:
        screen.print_json([bug.to_dict() for bug in found])
        return 0
    out = screen.Screen()
    if not found:
        out.line("No known bug is like that." + ("" if chosen.all else " --all looks at those not repaired as well."))
        return 0
    rows = [(one.id, one.kind, one.cure(), ", ".join(map(str, one.fixed_in)) or "-", one.title) for one in found]
    out.table(("bug", "kind", "hotfix", "fixed in", "what"), rows)
    return 0
