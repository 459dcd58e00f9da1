"""``hotfix config``: the settings that are in force here, and the origin of each."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scan.settings import ProjectSettings

HELP = "print the settings in force, and where they come from"
EXAMPLES = (
    "hotfix config",
    "HOTFIX_CONFIG=/etc/hotfix.toml hotfix config",
    "hotfix config --json",
)

_Switch = tuple[str, str, str]  # name, value and origin


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; a setting that cannot be read is an error."""
    from ..engine.policy import Policy
    from .scan import settings as project_settings

    Policy.from_environment(os.environ)  # raises an error for a setting that cannot be read
    project = project_settings.read(Path.cwd())
    show = _print_json if chosen.json else _print
    show(_switches(), project)
    return 0


def _switches() -> list[_Switch]:
    """All switches, in the order of the documentation."""
    from ..engine import settings
    from ..engine.policy import VARIABLES

    from_file = settings.of_file(os.environ, VARIABLES)
    rows = []
    for variable in VARIABLES:
        if variable in os.environ:
            rows.append((variable, os.environ[variable], "the environment"))
        elif variable in from_file:
            rows.append((variable, from_file[variable], os.environ.get(settings.VARIABLE, "")))
        else:
            rows.append((variable, "", "default"))
    return rows


def _print_json(switches: Sequence[_Switch], project: ProjectSettings) -> None:
    from . import screen

    ignored = [
        {
            "id": exception.id,
            "reason": exception.reason,
            "expires": str(exception.expires or ""),
            "holds": exception.holds(date.today()),
        }
        for exception in project.ignored
    ]
    screen.print_json(
        {
            "switches": [{"name": name, "value": value, "from": origin} for name, value, origin in switches],
            "scan": {"file": project.file, "fail_on": project.fail_on, "ignore": ignored},
        }
    )


def _print(switches: Sequence[_Switch], project: ProjectSettings) -> None:
    from .._support.words import PATH, shown
    from . import screen

    out = screen.Screen()
    out.line("Settings in force; environment variables take precedence over the file named by HOTFIX_CONFIG.", "bold")
    rows = [(name, shown(value, PATH) or "-", shown(origin, PATH)) for name, value, origin in switches]
    out.table(("switch", "value", "from"), rows)
    out.line()
    if not project.file:
        out.line("hotfix scan: no pyproject.toml in this folder or its parents has a [tool.hotfix.scan] table.")
        return
    out.line(f"hotfix scan, from {project.file}:", "bold")
    out.line(f"fail-on: {project.fail_on or 'nothing'}")
    ignored = []
    for exception in project.ignored:
        lapsed = "" if exception.holds(date.today()) else " (it counts again)"
        ignored.append((exception.id, f"{exception.expires or 'never'}{lapsed}", exception.reason))
    if ignored:
        out.table(("ignored", "expires", "reason"), ignored)
