"""``hotfix status``: the bugs in this environment and their repairs. No library is imported for it."""

from __future__ import annotations

import argparse
import os
import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.ledger import Outcome
    from ..reports.report import Report

HELP = "print the bugs in this environment, and their repairs"
EXAMPLES = (
    "hotfix status",
    "hotfix status --all",
    "hotfix status --targets",
    "hotfix status --unknown",
    "hotfix status --json | jq '.outcomes[] | select(.verdict == \"broken\")'",
    "HOTFIX_OPTIN=removed-names hotfix status",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--all", action="store_true", help="also print fixes that have nothing to do here")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--targets", action="store_true", help="one row for each function, not for each fix")
    what.add_argument(
        "--unknown",
        action="store_true",
        help="print only the functions that were never examined, as Markdown for an issue",
    )


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from ..engine.ledger import State
    from ..engine.policy import Policy
    from ..reports import tables
    from ..reports.report import of_environment
    from . import screen

    report = of_environment(Policy.from_environment(os.environ))
    if chosen.unknown:
        _print_unknown(report, chosen.json)
        return 0
    if chosen.json:
        screen.print_json(report.to_dict())
        return 0
    out = screen.Screen()
    out.line(report.headline(), "bold")
    out.line()
    if chosen.targets:
        targets = [
            (outcome.fix, outcome.target, outcome.verdict.value, outcome.state.value, outcome.reason)
            for outcome in report
        ]
        out.table(("fix", "target", "verdict", "state", "reason"), targets)
        return 0
    rows = report.rows() if chosen.all else report.at_work()
    if rows:
        columns = tables.ALL_COLUMNS if chosen.all else tables.COLUMNS
        out.table(columns, [row.cells(reasons=chosen.all) for row in rows], cut=not chosen.all)
        out.line()
    if any(row.state is State.PENDING for row in rows):
        out.line(
            "Pending: a program that begins with `import hotfix.auto`, or that `hotfix run --` starts, has it repaired."
        )
    for sentence in map(str, report.unexamined) if chosen.all else report.summary():
        out.line(sentence)
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Below: the facts that a maintainer needs to examine a release.


def _print_unknown(report: Report, as_json: bool) -> None:
    from .. import __version__
    from ..engine.ledger import State
    from ..reports import tables
    from ..versions.judgement import Verdict
    from . import screen

    unknown = [
        outcome for outcome in report if outcome.verdict is Verdict.UNKNOWN and outcome.state is not State.DISABLED
    ]
    if as_json:
        functions = [
            {"fix": outcome.fix, "target": outcome.target, "digest": outcome.source, "matcher": _says(outcome)}
            for outcome in unknown
        ]
        packages = report.to_dict()["unexamined"]
        screen.print_json(
            {"hotfix": __version__, "python": platform.python_version(), "packages": packages, "unknown": functions}
        )
        return
    if not unknown:
        print("Every function that a fix targets was examined.")
        return
    print(
        "\n".join(
            f"- {line}" for line in [*report.unexamined, f"hotfix {__version__}, Python {platform.python_version()}"]
        )
    )
    print()
    rows = [
        [tables.escaped_markdown(cell) for cell in (outcome.fix, outcome.target, outcome.source or "-", _says(outcome))]
        for outcome in unknown
    ]
    print(tables.clean(tables.markdown_table(("fix", "target", "digest", "matcher"), rows)))


def _says(outcome: Outcome) -> str:
    if outcome.looks_broken:
        return "looks broken"
    return "does not look broken" if outcome.harmless else outcome.reason
