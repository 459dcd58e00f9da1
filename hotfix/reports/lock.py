"""``hotfix.lock``: the patch set at the start of an experiment, stored with its other inputs.

- ``hotfix lock`` writes it for this environment and these switches.
- ``hotfix lock --check`` lists the changes since then.
- ``hotfix lock --against CHECKPOINT`` compares it with the lock file of a checkpoint, for the model of that checkpoint.
- ``HOTFIX_PIN=$(hotfix lock --digest) hotfix run -- torchrun ...`` makes every armed process refuse any other patch
  set.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Optional, Union

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from .. import __version__
from ..engine.entry import Entry, concerns
from ..engine.policy import Policy
from ..errors import HotfixError
from .digest import patch_set_digest
from .files import read_regular, write_whole
from .fleet import compare_patches
from .report import PACKAGES, Report, of_environment
from .trees import json_of

FILE = "hotfix.lock"
_LARGEST = 8 * 1024 * 1024  # bytes; one of all fixes has some hundred thousand
_HEAVIEST = 256 * 1024 * 1024  # bytes that it takes in memory
_DIGEST = re.compile(r"[0-9a-f]{12}")


def write(path: Union[str, Path] = FILE) -> str:
    """Write the patch set of this environment and these switches to a lock file.

    Args:
        path: the path of the file; an existing lock file is replaced. A link stays, and its target is replaced.

    Returns:
        The digest.

    Raises:
        HotfixError: a file of this name exists and is not a lock file.
        PolicyError: a switch cannot be read.
        OSError: the file cannot be written.
    """
    place = Path(os.path.realpath(path))
    if Path(path).name != FILE and place.is_file() and place.stat().st_size:
        try:
            read(path)
        except HotfixError as error:
            raise HotfixError(
                f"{error}; choose another name, or delete it: hotfix lock replaces lock files only"
            ) from None
    report = of_this_environment()
    write_whole(place, describe(report))
    return report.digest


def describe(report: Report) -> str:
    """The text of a lock file for a report."""
    content = {
        "digest": report.digest,
        "hotfix": __version__,
        "packages": dict(report.packages),
        "patches": list(report.patches),
    }
    return json.dumps(content, indent=2) + "\n"


def check(path: Union[str, Path] = FILE) -> list[str]:
    """Compare this environment with the one in which a lock file was written.

    Args:
        path: of the file.

    Returns:
        The differences, in sentences; empty if the patch set is the same. Changed package versions are listed only if
        the patch set differs: otherwise hotfix makes the same repairs with them.

    Raises:
        HotfixError: the file is not there, is not a lock file, or was edited.
        PolicyError: a switch cannot be read.
    """
    locked, report = read(path), of_this_environment()
    if report.digest == locked["digest"]:
        return []
    sentences = [f"the digest is {report.digest} instead of {locked['digest']}"]
    for name in sorted({*report.packages, *locked["packages"]}):
        here, there = report.packages.get(name, "not installed"), locked["packages"].get(name, "not installed")
        if here != there:
            sentences.append(f"{name}: {here} instead of {there}")
    return sentences + compare_patches(report.patches, locked["patches"])


def against(locked: Mapping[str, Any], report: Report, folders: Collection[str]) -> list[str]:
    """The silent bugs that differ between the training of a model and this process.

    A model trained with a bug may need it, and a model trained without it gives different numbers with it. A bug is
    present if the release has it for this model and it was not repaired; a release without the bug counts as repaired.
    Opt-in fixes count only if they were opted in.

    Args:
        locked: the content of the lock file of the checkpoint.
        report: the report of this process or of this environment.
        folders: the folders of the model and of its parts, in ``transformers.models``.

    Returns:
        The differences, in sentences; empty if there are none.
    """
    there = _Standing(locked["packages"], locked["patches"])
    here = _Standing(report.packages, report.patches)
    sentences = []
    for entry in report.entries.values():
        asked_for = entry.id in there.repaired or entry.id in here.repaired
        if entry.kind != "silent" or (entry.optin and not asked_for):
            continue
        was, now = (side.has(entry, folders) for side in (there, here))
        if was and now is False:
            sentences.append(f"it may have learned with {entry.id}, which is not here ({here.why(entry)})")
        elif now and was is False:
            sentences.append(f"it has learned without {entry.id} ({there.why(entry)}), which is here ({here})")
    unknown = sorted(there.repaired - set(report.entries))
    if unknown:
        sentences.append(f"{', '.join(unknown)} had been repaired, and is no fix of hotfix {__version__}")
    return sentences


class _Standing:
    """The bugs that are present in one environment."""

    def __init__(self, packages: Mapping[str, Any], patches: Iterable[Any]) -> None:
        self.packages = packages
        self.repaired = {str(patch).partition(" ")[0] for patch in patches}
        try:
            self.release: Optional[Version] = Version(str(packages.get("transformers", "")))
        except ValueError:  # it was not installed, or has no valid version
            self.release = None

    def __str__(self) -> str:
        return f"transformers {self.release}, not repaired"

    def has(self, entry: Entry, folders: Collection[str]) -> Optional[bool]:
        """Whether a bug is present; None if unknown."""
        if entry.id in self.repaired:
            return False
        if self.release is None or not concerns(entry.targets, self.release, folders):
            return None if self.release is None else False
        for name, wanted in entry.load().needs.items():
            version = self.packages.get(name)
            if name not in PACKAGES:
                return None
            if version is None:
                return False
            try:
                is_wanted = SpecifierSet(wanted).contains(Version(str(version)), prereleases=True)
            except ValueError:
                return None
            if not is_wanted:
                return False
        return True

    def why(self, entry: Entry) -> str:
        """Why a bug is not present."""
        return "repaired" if entry.id in self.repaired else f"transformers {self.release} does not have it"


def read(path: Union[str, Path] = FILE) -> dict[str, Any]:
    """The content of a lock file.

    Args:
        path: of the file.

    Raises:
        HotfixError: the file is not there, is not a lock file, or was edited: its patches do not have its digest.
    """
    try:
        content = json_of(read_regular(Path(path), _LARGEST), _HEAVIEST)
        whole = bool(_DIGEST.fullmatch(content["digest"])) and _are_patches(content["patches"])
        whole = whole and isinstance(content["packages"], dict)
        edited = edited_since(content) if whole else ""
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HotfixError(f"{path}: not a lock file ({reason}); `hotfix lock` writes one") from error
    if not whole:
        raise HotfixError(f"{path}: not a lock file; `hotfix lock` writes one")
    if edited:
        raise HotfixError(f"{path}: {edited}; restore it, or write it again with `hotfix lock`")
    return dict(content)


def edited_since(content: Mapping[str, Any]) -> str:
    """How a lock file was edited since it was written, as a clause; empty if its digest is right.

    Args:
        content: of the file: its digest, and its patches as lines of text.

    Raises:
        ValueError: a line is not text that can be written in UTF-8.
    """
    made = patch_set_digest(content["patches"])
    if made == content["digest"]:
        return ""
    return f"edited since it was written: its patches have the digest {made}, not {content['digest']}"


def _are_patches(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) and " " in line for line in value)


def of_this_environment() -> Report:
    """The expected report for this environment and these switches.

    Raises:
        PolicyError: a switch cannot be read.
    """
    return of_environment(Policy.from_environment(os.environ))
