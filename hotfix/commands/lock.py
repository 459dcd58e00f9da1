"""``hotfix lock``: record the patch set of an experiment, and compare with it later."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

HELP = "record the patch set, or compare it with a recorded one"

EXAMPLES = (
    "hotfix lock",
    "hotfix lock --check",
    "hotfix lock --against ./checkpoint-500",
    "export HOTFIX_PIN=$(hotfix lock --digest)",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="?", default="hotfix.lock", help="the lock file (default: hotfix.lock)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="list the changes since the file was written")
    what.add_argument(
        "--against",
        metavar="CHECKPOINT",
        help="compare the silent bugs that the hotfix.lock of a checkpoint names with those of this environment",
    )
    what.add_argument("--digest", action="store_true", help="print the digest in the file")


def run(chosen: argparse.Namespace) -> int:
    """Write or compare; the status is 1 if the patch set, or the bugs for the model of a checkpoint, differ."""
    from ..reports import lock

    if chosen.digest:
        print(lock.read(chosen.file)["digest"])
        return 0
    if chosen.against is not None:
        return _against(Path(chosen.against))
    if not chosen.check:
        print(f"{lock.write(chosen.file)} written to {os.path.relpath(chosen.file)}")
        return 0
    differences = lock.check(chosen.file)
    print("\n".join(differences) if differences else f"the patch set is that of {chosen.file}")
    return 1 if differences else 0


def _against(folder: Path) -> int:
    from packaging.version import Version

    from ..reports import lock, trees
    from . import CommandError, screen
    from .audit import from_files, run_folder

    run = run_folder.read(folder)
    if (folder / lock.FILE).exists() and (reason := trees.Tree(folder).refusal(folder / lock.FILE)):
        raise CommandError(f"{folder / lock.FILE}: {reason}")
    locked = lock.read(folder / lock.FILE)
    if not run.files.model_types:
        raise CommandError(f"{folder}: no file names the model type, so the functions of the model are not known")
    here = lock.of_this_environment()
    folders: set[str] = set()
    for package in (locked["packages"], here.packages):
        try:
            folders |= from_files.folders_of(run.files.model_types, Version(str(package.get("transformers", ""))))
        except ValueError:  # InvalidVersion, and a number of thousands of digits
            continue
    differences = lock.against(locked, here, folders)
    shown = screen.Screen()
    for difference in differences:
        shown.line(f"{folder}: {difference}")
    if not differences:
        kinds = ", ".join(sorted(run.files.model_types))
        shown.line(f"{folder}: the known silent bugs of {kinds} are the same here as where it was trained")
    return 1 if differences else 0
