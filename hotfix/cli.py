"""The command ``hotfix``, also ``python -m hotfix``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Optional


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the command.

    Args:
        arguments: the words after ``hotfix``; those of the process if None.

    Returns:
        The exit status: 0, or 2 for bad input.
    """
    parser = argparse.ArgumentParser(prog="hotfix", description="Live patching for model code.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    status = commands.add_parser("status", help="what is broken in this environment, and what hotfix does about it")
    status.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args(arguments)

    from .errors import PolicyError
    from .policy import Policy
    from .reporting import of_environment

    try:
        report = of_environment(Policy.from_environment(os.environ))
    except PolicyError as error:
        print(f"hotfix: {error}", file=sys.stderr)
        return 2
    print(report.to_json() if chosen.json else report)
    return 0
