"""``hotfix status``: what is broken in this environment, and what hotfix does about it. Nothing is imported for it."""

from __future__ import annotations

import argparse
import os
from collections import Counter

HELP = "what is broken in this environment, and what hotfix does about it"
EXAMPLES = (
    "hotfix status",
    "hotfix status --all",
    "hotfix status --targets",
    "hotfix status --json | jq '.outcomes[] | select(.verdict == \"broken\")'",
    "HOTFIX_OPTIN=removed-names hotfix status",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--all", action="store_true", help="also the fixes for which there is nothing to do")
    parser.add_argument("--targets", action="store_true", help="one row for each function, not for each fix")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from ..engine.policy import Policy
    from ..reports import tables
    from ..reports.report import of_environment
    from . import screen

    report = of_environment(Policy.from_environment(os.environ))
    if chosen.json:
        screen.print_json(report.to_dict())
        return 0
    out = screen.Screen()
    out.line(report.headline(), "bold")
    out.line()
    if chosen.targets:
        targets = [(one.fix, one.target, one.verdict.value, one.state.value, one.reason) for one in report]
        out.table(("fix", "target", "verdict", "state", "reason"), targets)
        return 0
    rows = report.rows()
    shown = rows if chosen.all else [row for row in rows if not row.idle]
    if shown:
        out.table(tables.COLUMNS, [row.cells() for row in shown])
        out.line()
    if len(shown) < len(rows):
        counts = Counter(row.verdict.value for row in rows if row.idle)
        idle = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        out.line(f"There is nothing to do for {len(rows) - len(shown)} fixes ({idle}); --all lists them.")
    return 0
