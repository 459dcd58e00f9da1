"""``hotfix scan``: the known bugs that the pins of a project allow, and the upgrades that end them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .affected import Scan
    from .settings import ProjectSettings

HELP = "list the known bugs in pinned packages, a lock file or an environment"
EXAMPLES = (
    "hotfix scan .",
    "hotfix scan requirements.txt",
    "hotfix scan transformers==4.49.0",
    "hotfix scan uv.lock --fail-on silent",
    "hotfix scan environment.yml --format sarif > hotfix.sarif",
    "pip freeze | hotfix scan -",
    "hotfix scan .venv --format markdown",
    "hotfix scan bill.cdx.json --fail-on any",
)
FORMATS = ("table", "json", "sarif", "markdown")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a file, a project folder, an environment, a requirement such as transformers==4.49.0, or - to read the "
        "output of pip freeze or pip list from stdin (default: .)",
    )
    # The spelling of pip.
    parser.add_argument("-r", "--requirement", action="append", dest="more", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument(
        "--fail-on",
        choices=("silent", "crash", "any"),
        help="exit with 1 if there is such a bug; a bug that hotfix repairs does not count if transformers-hotfix is "
        "among the pins",
    )
    parser.add_argument("--all", action="store_true", help="list all bugs, instead of the worst ones in 40 lines")
    parser.add_argument("--python", default="", metavar="3.10", help="evaluate markers for this Python version")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import formats
    from . import settings as project_settings

    files = [*chosen.files, *chosen.more] or ["."]
    first = Path(files[0])
    settings = project_settings.read(first if first.is_dir() else Path.cwd())
    scans = [_without(scan, settings) for source in files for scan in _scans(source, chosen.python)]
    if chosen.format == "table":
        formats.print_table(scans, chosen.all)
    else:
        getattr(formats, f"print_{chosen.format}")(scans)
    kinds = {finding.bug.kind for scan in scans for finding in scan.left()}
    fail_on = chosen.fail_on or settings.fail_on
    return int(bool(kinds) if fail_on == "any" else fail_on in kinds)


def _without(scan: Scan, settings: ProjectSettings) -> Scan:
    """The same, with the ignored bugs marked, and a note for each entry that has expired."""
    ids = {finding.bug.id for finding in scan.findings}
    today = date.today()
    mine = [exception for exception in settings.ignored if exception.id in ids]
    notes = [
        f"{exception.id} was ignored until {exception.expires}, and counts again"
        for exception in mine
        if not exception.holds(today)
    ]
    ignored = {exception.id: exception.reason for exception in mine if exception.holds(today)}
    return replace(scan, ignored=ignored, notes=(*scan.notes, *notes))


def _scans(source: str, python: str) -> list[Scan]:
    """The scans of a file, of an environment, or of every file of a project that names the package."""
    from ...reports.trees import Tree
    from .. import CommandError, bugs
    from ..pins import project_files, readers
    from . import affected

    folder = Path(source)
    if source == "-" or not folder.is_dir() or readers.is_environment(folder):
        return affected.judge(readers.read(source, python))
    named, silent, unread = [], [], []
    tree = Tree(folder)
    for file in project_files.find(folder):
        if reason := tree.refusal(file):
            unread.append(f"{file}: {reason}")
            continue
        try:
            scans = affected.judge(readers.read(str(file), python))
        except CommandError as error:  # of one file among many; they may not even be pins
            unread.append(str(error))
            continue
        if any(scan.asked for scan in scans):
            named += scans
        else:
            silent.append(file.name)
    notes = [f"not judged: {sentence}" for sentence in unread]
    notes += [f"{bugs.PACKAGE} is not named in {', '.join(silent)}"] if silent else []
    if not named:
        return [affected.Scan(source, notes=tuple(notes))]
    return [*named[:-1], replace(named[-1], notes=(*named[-1].notes, *notes))]
