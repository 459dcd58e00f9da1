"""Which known bugs are carried by what was read: the pins of a file, or what is installed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ..versions import installed
from . import bugs
from .bugs import Bug
from .pins import Pin, Pins


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
        examined: whether anything is known of the releases that it allows.
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
    examined: bool = False
    pinned: bool = False
    allowed: int = 0
    findings: tuple[Finding, ...] = ()
    upgrade: Optional[Version] = None
    carried: int = 0
    with_hotfix: bool = False
    notes: tuple[str, ...] = ()

    def left(self) -> list[Finding]:
        """The findings that stay in the environment that is described."""
        return [one for one in self.findings if not (self.with_hotfix and one.bug.repaired and not one.bug.optin)]


def judge(pins: Pins) -> list[Scan]:
    """Judge each requirement of the package in what was read; one result without findings if there is none."""
    wanted = pins.packages.get(bugs.PACKAGE, [])
    if not wanted:
        note = f"{bugs.PACKAGE} is not named; of what others require nothing is known here"
        return [Scan(pins.source, notes=(*pins.notes, note))]
    return [_scanned(pins, pin) for pin in wanted]


def of_environment() -> Scan:
    """Judge what is installed beside hotfix."""
    found = Pins("this environment", complete=True)
    for name in {bugs.PACKAGE}.union(*(bug.needs for bug in bugs.known().values())):
        version = installed.version(name)
        if version is not None:
            found.add(Pin(name, SpecifierSet(f"=={version}"), found.source))
    return judge(found)[0]


# ---------------------------------------------------------------------------------------------------------------------
# Below: one requirement.


def _scanned(pins: Pins, pin: Pin) -> Scan:
    notes = list(pins.notes)
    release = pin.version
    releases = bugs.examined()
    asked = f"{bugs.PACKAGE}{pin.specifier}" if str(pin.specifier) else bugs.PACKAGE
    with_hotfix = "transformers-hotfix" in pins.packages
    if pin.opaque:
        return Scan(pins.source, asked, pin.where, with_hotfix=with_hotfix, notes=(*notes, f"{pin.opaque}: not judged"))
    allowed = (release,) if release else tuple(one for one in releases if pin.specifier.contains(one))
    examined = bool(allowed) and (release is None or releases[0] <= release <= releases[-1])
    if not allowed:
        notes.append(f"{asked}: none of the examined releases is allowed ({releases[0]} to {releases[-1]})")
    elif not examined:
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
        examined,
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
        "examined": scan.examined,
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
