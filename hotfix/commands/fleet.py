"""``hotfix fleet``: check that all processes of a job ran the same patch set."""

from __future__ import annotations

import argparse

HELP = "summarize the records of all processes of a job"

EXAMPLES = ("hotfix fleet records", "hotfix fleet records --json", "hotfix fleet records --prometheus")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("directory", metavar="DIR", help="the directory in HOTFIX_RECORD")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="print JSON")
    what.add_argument("--prometheus", action="store_true", help="print metrics in the Prometheus text format")


def run(chosen: argparse.Namespace) -> int:
    """Print the summary; the status is 1 if processes differ, or if a record is missing or cannot be read."""
    from ..reports import fleet
    from . import CommandError

    try:
        summary = fleet.summarise(chosen.directory)
    except OSError as error:
        raise CommandError(f"{chosen.directory}: {error.strerror or error}") from None
    if chosen.prometheus:
        print(summary.to_prometheus())
    else:
        print(summary.to_json() if chosen.json else summary)
    return 0 if summary.uniform else 1
