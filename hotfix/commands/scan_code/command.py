"""``hotfix scan-code``: the names that Python files use from transformers and that some release does not have."""

from __future__ import annotations

import argparse

HELP = "list the removed names that code uses from transformers"
EXAMPLES = (
    "hotfix scan-code .",
    "hotfix scan-code ~/.cache/huggingface/modules/transformers_modules",
    "hotfix scan-code model/modeling_mine.py --release 5.3.0 --fail-on left",
    "hotfix scan-code src --format sarif > hotfix-code.sarif",
)
FORMATS = ("table", "json", "sarif")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a Python file, or a folder with such files")
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument(
        "--release", default="", metavar="5.3.0", help="the release to check against (default: the installed one)"
    )
    parser.add_argument(
        "--fail-on",
        choices=("left", "any"),
        help="exit with 1 if the release lacks a required name; `left`: only if no fix restores it",
    )


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import formats, missing

    scans = [missing.judge(path, chosen.release) for path in chosen.paths]
    getattr(formats, f"print_{chosen.format}")(scans)
    lacking = [finding for scan in scans for finding in scan.lacking()]
    if chosen.fail_on == "left":
        lacking = [finding for finding in lacking if finding.fix is None]
    return int(bool(chosen.fail_on and lacking))
