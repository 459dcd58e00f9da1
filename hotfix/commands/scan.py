"""``hotfix scan``: which known bugs the pins of a project carry, and what ends them."""

from __future__ import annotations

import argparse

HELP = "which known bugs a requirements file, a lock file, a bill of materials or an environment carries"
EXAMPLES = (
    "hotfix scan requirements.txt",
    "hotfix scan uv.lock --fail-on silent",
    "hotfix scan environment.yml --format sarif > hotfix.sarif",
    "pip freeze | hotfix scan -",
    "hotfix scan .venv --format markdown",
    "hotfix scan bill.cdx.json --fail-on any",
)
FORMATS = ("table", "json", "sarif", "markdown")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="file, folder of an environment, or - for pip freeze")
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument(
        "--fail-on",
        choices=("silent", "crash", "any"),
        help="exit with 1 if such a bug is carried; those that hotfix repairs do not count where transformers-hotfix "
        "is among the pins",
    )
    parser.add_argument("--python", default="", metavar="3.10", help="the Python for which markers hold")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import carried, pins, scan_formats

    scans = [scan for source in chosen.files for scan in carried.judge(pins.read(source, chosen.python))]
    getattr(scan_formats, f"print_{chosen.format}")(scans)
    kinds = {one.bug.kind for scan in scans for one in scan.left()}
    return int(bool(kinds) if chosen.fail_on == "any" else chosen.fail_on in kinds)
