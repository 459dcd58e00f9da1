"""``hotfix config``: the settings that are in force here, and the origin of each."""

from __future__ import annotations

import argparse
import os
from datetime import date
from pathlib import Path

HELP = "print the settings in force, and where they come from"
EXAMPLES = (
    "hotfix config",
    "HOTFIX_CONFIG=/etc/hotfix.toml hotfix config",
    "hotfix config --json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; a setting that cannot be read is an error."""
    from .._support.words import PATH, shown
    from ..engine import settings
    from ..engine.policy import VARIABLES, Policy
    from . import screen
    from .scan import settings as project_settings

    Policy.from_environment(os.environ)  # raises an error for a setting that cannot be read
    from_file = settings.of_file(os.environ, VARIABLES)
    file = os.environ.get(settings.VARIABLE, "")
    rows = []
    for variable in VARIABLES:
        if variable in os.environ:
            rows.append((variable, os.environ[variable], "the environment"))
        elif variable in from_file:
            rows.append((variable, from_file[variable], file))
        else:
            rows.append((variable, "", "default"))
    project = project_settings.read(Path.cwd())
    today = date.today()
    if chosen.json:
        screen.print_json(
            {
                "switches": [{"name": name, "value": value, "from": origin} for name, value, origin in rows],
                "scan": {
                    "file": project.file,
                    "fail_on": project.fail_on,
                    "ignore": [
                        {
                            "id": exception.id,
                            "reason": exception.reason,
                            "expires": str(exception.expires or ""),
                            "holds": exception.holds(today),
                        }
                        for exception in project.ignored
                    ],
                },
            }
        )
        return 0
    out = screen.Screen()
    out.line("Settings in force; environment variables take precedence over the file named by HOTFIX_CONFIG.", "bold")
    out.table(
        ("switch", "value", "from"),
        [(name, shown(value, PATH) or "-", shown(origin, PATH)) for name, value, origin in rows],
    )
    out.line()
    if not project.file:
        out.line("hotfix scan: no pyproject.toml in this folder or its parents has a [tool.hotfix.scan] table.")
        return 0
    out.line(f"hotfix scan, from {project.file}:", "bold")
    out.line(f"fail-on: {project.fail_on or 'nothing'}")
    ignored = [
        (
            exception.id,
            str(exception.expires or "never") + ("" if exception.holds(today) else " (it counts again)"),
            exception.reason,
        )
        for exception in project.ignored
    ]
    if ignored:
        out.table(("ignored", "expires", "reason"), ignored)
    return 0
