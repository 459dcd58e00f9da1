"""``hotfix scan``: which known bugs the pins of a project carry, and what ends them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from packaging.version import Version

    from .bugs import Bug
    from .pins import Pin, Pins

HELP = "which known bugs a requirements file, a lock file or an environment carries"
EXAMPLES = (
    "hotfix scan requirements.txt",
    "hotfix scan uv.lock --fail-on silent",
    "hotfix scan environment.yml --format sarif > hotfix.sarif",
    "pip freeze | hotfix scan -",
    "hotfix scan .venv --format markdown",
)
FORMATS = ("table", "json", "sarif", "markdown")


@dataclass(frozen=True)
class Finding:
    """One known bug in what a file allows.

    Attributes:
        bug: the bug.
        releases: the releases that are allowed and have it, in ascending order.
        condition: what else has to be installed for it to show, if the file does not say; else an empty string.
    """

    bug: Bug
    releases: tuple[Version, ...]
    condition: str = ""


@dataclass(frozen=True)
class Scan:
    """What one file or folder carries.

    Attributes:
        source: the file or folder.
        asked: the requirement as it stands there, for instance ``transformers==4.49.0``; empty if there is none.
        where: file and line of it.
        judged: whether anything is known of the releases that it allows.
        pinned: whether it allows one release only.
        allowed: how many of the examined releases it allows.
        findings: the known bugs, crashes first.
        upgrade: the lowest release that ends all that hotfix does not repair and some release does; None if there is
            nothing to end.
        carried: how many other known bugs, new there, that release has.
        with_hotfix: whether the file names transformers-hotfix.
        notes: what could not be judged.
    """

    source: str
    asked: str = ""
    where: str = ""
    judged: bool = False
    pinned: bool = False
    allowed: int = 0
    findings: tuple[Finding, ...] = ()
    upgrade: Optional[Version] = None
    carried: int = 0
    with_hotfix: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)

    def left(self) -> list[Finding]:
        """The findings that stay in the environment that is described."""
        return [one for one in self.findings if not (self.with_hotfix and one.bug.repaired and not one.bug.optin)]


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
    from . import pins, scan_formats

    scans = [scan for source in chosen.files for scan in judge(pins.read(source, chosen.python))]
    getattr(scan_formats, f"print_{chosen.format}")(scans)
    kinds = {one.bug.kind for scan in scans for one in scan.left()}
    return int(bool(kinds) if chosen.fail_on == "any" else chosen.fail_on in kinds)


def judge(pins: Pins) -> list[Scan]:
    """Judge each requirement of the package in what was read; one result without findings if there is none."""
    from . import bugs

    wanted = pins.packages.get(bugs.PACKAGE, [])
    if not wanted:
        note = f"{bugs.PACKAGE} is not named; of what others require nothing is known here"
        return [Scan(pins.source, notes=(*pins.notes, note))]
    return [_judged(pins, pin) for pin in wanted]


def of_environment() -> Scan:
    """Judge what is installed beside hotfix."""
    from packaging.specifiers import SpecifierSet

    from ..versions import installed
    from . import bugs, pins

    found = pins.Pins("this environment", complete=True)
    for name in {bugs.PACKAGE}.union(*(bug.needs for bug in bugs.known().values())):
        version = installed.version(name)
        if version is not None:
            found.add(pins.Pin(name, SpecifierSet(f"=={version}"), found.source))
    return judge(found)[0]


# ---------------------------------------------------------------------------------------------------------------------
# Below: one requirement.


def _judged(pins: Pins, pin: Pin) -> Scan:
    from . import bugs

    notes = list(pins.notes)
    release = pin.version
    releases = bugs.examined()
    asked = f"{bugs.PACKAGE}{pin.specifier}" if str(pin.specifier) else bugs.PACKAGE
    with_hotfix = "transformers-hotfix" in pins.packages
    if pin.opaque:
        return Scan(pins.source, asked, pin.where, with_hotfix=with_hotfix, notes=(*notes, f"{pin.opaque}: not judged"))
    allowed = (release,) if release else tuple(one for one in releases if pin.specifier.contains(one))
    judged = bool(allowed) and (release is None or releases[0] <= release <= releases[-1])
    if not allowed:
        notes.append(f"{asked}: none of the examined releases is allowed ({releases[0]} to {releases[-1]})")
    elif not judged:
        notes.append(f"{asked}: outside of the examined releases ({releases[0]} to {releases[-1]})")
    found = []
    for bug in bugs.known().values():
        hit = tuple(one for one in allowed if bug.is_in(one))
        condition = _condition(bug, pins) if hit else None
        if condition is not None:
            found.append(Finding(bug, hit, condition))
    kinds = ("crash", "silent")
    found.sort(key=lambda one: (not one.bug.repaired, kinds.index(one.bug.kind) if one.bug.kind in kinds else 2))
    upgrade, carried = _upgrade(found, allowed, releases)
    return Scan(
        pins.source,
        asked,
        pin.where,
        judged,
        release is not None,
        len(allowed),
        tuple(found),
        upgrade,
        carried,
        with_hotfix,
        tuple(notes),
    )


def _condition(bug: Bug, pins: Pins) -> Optional[str]:
    """What else must be there, if that is open; an empty string if it is there; None if it cannot be."""
    open_ones = []
    for name, specifier in bug.needs.items():
        named = pins.packages.get(name)
        if named is None:
            if pins.complete:
                return None
            open_ones.append(f"{name}{specifier}")
            continue
        versions = [pin.version for pin in named]
        if any(version is None for version in versions):
            open_ones.append(f"{name}{specifier}")
        elif not any(version and specifier.contains(version, prereleases=True) for version in versions):
            return None
    return " and ".join(open_ones)


def _upgrade(
    found: Sequence[Finding], allowed: Sequence[Version], releases: Sequence[Version]
) -> tuple[Optional[Version], int]:
    """The lowest release without the bugs that hotfix does not repair, of those that some later release is without."""
    from . import bugs

    rest = [one.bug for one in found if not one.bug.repaired and not one.bug.is_in(releases[-1])]
    if not rest:
        return None, 0
    for release in releases:
        if release > min(allowed) and not any(bug.is_in(release) for bug in rest):
            here = {one.bug.id for one in found}
            new = [bug for bug in bugs.known().values() if bug.is_in(release) and bug.id not in here]
            return release, len(new)
    return None, 0


def to_dict(scan: Scan) -> dict[str, Any]:
    """The public form: what ``--format json`` prints for each file."""
    return {
        "source": scan.source,
        "requirement": scan.asked,
        "where": scan.where,
        "judged": scan.judged,
        "pinned": scan.pinned,
        "releases_allowed": scan.allowed,
        "names_hotfix": scan.with_hotfix,
        "findings": [
            {
                **one.bug.to_dict(),
                "releases": [str(release) for release in one.releases],
                "condition": one.condition,
            }
            for one in scan.findings
        ],
        "upgrade": str(scan.upgrade) if scan.upgrade else None,
        "new_bugs_in_upgrade": scan.carried,
        "notes": list(scan.notes),
    }
