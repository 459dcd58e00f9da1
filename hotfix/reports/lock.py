"""``hotfix.lock``: the patch set with which an experiment began, written down beside its other inputs.

- ``hotfix lock`` writes it for this environment and these switches.
- ``hotfix lock --check`` says what has changed since then.
- ``HOTFIX_PIN=$(hotfix lock --digest) hotfix run -- torchrun ...`` refuses, in every process that is armed, to run with
  anything else.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Union

from ..engine.policy import Policy
from ..errors import HotfixError
from ..version import __version__
from .files import write_whole
from .fleet import compare_patches
from .report import Report, of_environment

FILE = "hotfix.lock"
_DIGEST = re.compile(r"[0-9a-f]{12}")


def write(path: Union[str, Path] = FILE) -> str:
    """Write the patch set of this environment and these switches down.

    Args:
        path: of the file; one that exists is replaced.

    Returns:
        The digest.

    Raises:
        PolicyError: a switch cannot be read.
        OSError: the file cannot be written.
    """
    report = _here()
    write_whole(Path(path), describe(report))
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
        What differs, in sentences; empty if the patch set is the same. Other versions of packages are named only where
        the patch set differs: as long as it does not, hotfix does the same with them.

    Raises:
        HotfixError: the file is not there, or is not a lock file.
        PolicyError: a switch cannot be read.
    """
    locked, report = read(path), _here()
    if report.digest == locked["digest"]:
        return []
    sentences = [f"the digest is {report.digest} instead of {locked['digest']}"]
    for name in sorted({*report.packages, *locked["packages"]}):
        here, there = report.packages.get(name, "not installed"), locked["packages"].get(name, "not installed")
        if here != there:
            sentences.append(f"{name}: {here} instead of {there}")
    return sentences + compare_patches(report.patches, locked["patches"])


def read(path: Union[str, Path] = FILE) -> dict[str, Any]:
    """The content of a lock file.

    Args:
        path: of the file.

    Raises:
        HotfixError: the file is not there, or is not a lock file.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        whole = bool(_DIGEST.fullmatch(content["digest"])) and isinstance(content["patches"], list)
        if whole and isinstance(content["packages"], dict):
            return dict(content)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise HotfixError(f"{path}: not a lock file ({error}); `hotfix lock` writes one") from error
    raise HotfixError(f"{path}: not a lock file; `hotfix lock` writes one")


def _here() -> Report:
    return of_environment(Policy.from_environment(os.environ))
