"""Files of examined releases that are known as a whole.

To judge a function by its own digest, the function must be found in its file and parsed. That is not needed where the
file is the one in the wheel of the installed release: the sweep has parsed it, and the evidence says what it found. Any
other file (edited, patched by a distribution, built from a branch) is parsed.

``files.json`` has the digest of each such file, and the release from which on a wheel has it. The sweep writes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Callable, Optional

from packaging.version import Version

from .._support.memo import memo, recent
from . import installed

RECORDED = Path(__file__).parent / "files.json"
NONE = "-"
"""In place of a digest, where a release has no such module."""


def release_of(modules: Collection[str], read: Callable[[str], Optional[str]]) -> Optional[Version]:
    """The installed release, if all of these modules are files of its wheel; else None.

    Args:
        modules: names of modules of one package.
        read: how to get the source of a module.
    """
    (package,) = {module.partition(".")[0] for module in modules}
    release, recorded = installed.version(package), _recorded().get(package)
    if release is None or recorded is None or str(release) not in recorded["releases"]:
        return None
    number = recorded["releases"].index(str(release))
    for module in modules:
        text = read(module)
        if text is None or digest(text) != at(recorded["modules"].get(module, ""), number):
            return None
    return release


@recent(4)
def digest(text: str) -> str:
    """The digest of a whole file: 12 hexadecimal digits, to tell the builds of one version apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@memo
def _recorded() -> dict[str, Any]:
    """What the sweep has recorded for each package. Without it, or if it cannot be read, files are parsed."""
    try:
        content = json.loads(RECORDED.read_text(encoding="utf-8"))
        packages = {
            name: {"releases": [*entry["releases"]], "modules": {**entry["modules"]}} for name, entry in content.items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return packages


@memo  # many targets are in one file
def at(entries: str, number: int) -> str:
    """The digest of a file in a release, from ``FIRST:DIGEST FIRST:DIGEST``."""
    known = NONE
    for since, _, text in (entry.partition(":") for entry in entries.split()):
        if int(since) > number:
            break
        known = text
    return known
