"""``hotfix doctor``: the problems that keep hotfix from working in this environment, and their solutions."""

from __future__ import annotations

import argparse

HELP = "find problems that keep hotfix from working, and their solutions"
EXAMPLES = ("hotfix doctor", "hotfix doctor --json", "hotfix doctor --quick && sbatch train.sh")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--quick", action="store_true", help="start no other interpreters, and do not import flash-attn"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; the status is 1 if there is a problem."""
    from .. import screen
    from . import checks

    findings = checks.examine(quick=chosen.quick)
    problems = sum(finding.level == "problem" for finding in findings)
    if chosen.json:
        screen.print_json({"problems": problems, "findings": [finding.to_dict() for finding in findings]})
        return int(problems > 0)
    out = screen.Screen()
    out.table(
        ("", "what", "found", "to do"),
        [(finding.level, finding.subject, finding.state, finding.advice) for finding in findings],
    )
    if not any(finding.level in ("problem", "warning") for finding in findings):
        out.line("No problems.")
    return int(problems > 0)
