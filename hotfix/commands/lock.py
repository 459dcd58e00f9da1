"""``hotfix lock``: the patch set with which an experiment began."""

from __future__ import annotations

import argparse
import os

HELP = "write down the patch set of this environment, or check it against what was written"

EXAMPLES = (
    "hotfix lock",
    "hotfix lock --check",
    "export HOTFIX_PIN=$(hotfix lock --digest)",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="?", default="hotfix.lock", help="the lock file (default: hotfix.lock)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="say what has changed since the file was written")
    what.add_argument("--digest", action="store_true", help="print the digest in the file")


def run(chosen: argparse.Namespace) -> int:
    """Write or compare; 1 if the patch set is another one."""
    from ..reports import lock

    if chosen.digest:
        print(lock.read(chosen.file)["digest"])
        return 0
    if not chosen.check:
        print(f"{lock.write(chosen.file)} written to {os.path.relpath(chosen.file)}")
        return 0
    differences = lock.check(chosen.file)
    print("\n".join(differences) if differences else f"the patch set is that of {chosen.file}")
    return 1 if differences else 0
