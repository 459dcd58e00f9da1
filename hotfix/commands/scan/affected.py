"""The known bugs of the pins in a file, or of the packages that are installed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ...versions import installed
from .. import bugs
from ..bugs import PACKAGE, Bug
from ..pins.readers import Pin, Pins


@dataclass(frozen=True)
class PinnedBug:
    """One known bug in the releases that a file allows.

    Attributes:
        bug: the bug.
        releases: the releases that are allowed and have it, in ascending order.
        condition: another package that it needs, if the file does not name this package; else an empty string.
    """

    bug: Bug
    releases: tuple[Version, ...]
    condition: str = ""


@dataclass(frozen=True)
class Step:
    """An upgrade.

    Attributes:
        release: the nearest release that ends these bugs.
        ends: which bugs: ``crashes``, ``silent bugs``, ``all``.
        ended: how many of the bugs that hotfix does not repair end with it.
        new: how many other known bugs it has that are not here.
        new_left: how many of these hotfix does not repair.
    """

    release: Version
    ends: str
    ended: int
    new: int
    new_left: int = 0


@dataclass(frozen=True)
class Scan:
    """The known bugs of one file or folder.

    Attributes:
        source: the file or folder.
        asked: the requirement as it is written there, for instance ``transformers==4.49.0``; empty if there is none.
        where: file and line of it.
        examined: whether the releases that it allows were examined.
        pinned: whether it allows one release only.
        allowed: how many of the examined releases it allows.
        findings: the known bugs, the worst kinds first, and of each first those that hotfix repairs.
        steps: upgrades, the nearest first; the last one ends all bugs that some release fixes and hotfix does not.
        with_hotfix: whether the file names transformers-hotfix.
        ignored: ids that the project's settings leave out, with the reason.
        notes: the parts that could not be judged.
    """

    source: str
    asked: str = ""
    where: str = ""
    examined: bool = False
    pinned: bool = False
    allowed: int = 0
    findings: tuple[PinnedBug, ...] = ()
    steps: tuple[Step, ...] = ()
    with_hotfix: bool = False
    ignored: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def unrepaired(self) -> int:
        """How many of the findings hotfix does not repair."""
        return sum(not finding.bug.repaired for finding in self.findings)

    def left(self) -> list[PinnedBug]:
        """The findings that remain in the environment that the file describes."""
        repaired = {finding.bug.id for finding in self.findings if finding.bug.repaired and not finding.bug.optin}
        gone = repaired if self.with_hotfix else set()
        return [
            finding for finding in self.findings if finding.bug.id not in gone and finding.bug.id not in self.ignored
        ]


def judge(pins: Pins) -> list[Scan]:
    """Judge each requirement on the package; one result without findings if there is none."""
    wanted = pins.packages.get(PACKAGE, [])
    if not wanted:
        note = f"{PACKAGE} is not named; requirements of other packages are not read here"
        return [Scan(pins.source, notes=(*pins.notes, note))]
    return [_scanned(pins, pin) for pin in wanted]


def of_environment() -> Scan:
    """Judge the packages that are installed next to hotfix."""
    pins = Pins("this environment", complete=True)
    for name in {PACKAGE}.union(*(bug.needs for bug in bugs.known().values())):
        version = installed.version(name)
        if version is not None:
            pins.add(Pin(name, SpecifierSet(f"=={version}"), pins.source))
    return judge(pins)[0]


# ---------------------------------------------------------------------------------------------------------------------
# Below: one requirement.


def _scanned(pins: Pins, pin: Pin) -> Scan:
    notes = list(pins.notes)
    release = pin.version and bugs.counts_as(pin.version)
    releases = bugs.examined()
    if release != pin.version:
        notes.append(f"{pin.version} counts as {release} here; `hotfix status` examines the installed source")
    asked = f"{PACKAGE}{pin.specifier}" if str(pin.specifier) else PACKAGE
    with_hotfix = "transformers-hotfix" in pins.packages
    if pin.opaque:
        return Scan(pins.source, asked, pin.where, with_hotfix=with_hotfix, notes=(*notes, f"{pin.opaque}: not judged"))
    allowed = (release,) if release else tuple(version for version in releases if pin.specifier.contains(version))
    examined = bool(allowed) and (release is None or releases[0] <= release <= releases[-1])
    if not allowed:
        notes.append(f"{asked}: none of the examined releases is allowed ({releases[0]} to {releases[-1]})")
    elif not examined:
        notes.append(f"{asked}: outside of the examined releases ({releases[0]} to {releases[-1]})")
    findings = []
    for bug in bugs.known().values() if examined else ():
        hit = tuple(version for version in allowed if bug.is_in(version))
        condition = _condition(bug, pins) if hit else None
        if condition is not None:
            findings.append(PinnedBug(bug, hit, condition))
    kinds = ("security", "crash", "silent")
    findings.sort(
        key=lambda finding: (
            kinds.index(finding.bug.kind) if finding.bug.kind in kinds else 3,
            not finding.bug.repaired,
        )
    )
    steps = _steps(findings, allowed, releases)
    return Scan(
        pins.source,
        asked,
        pin.where,
        examined,
        release is not None,
        len(allowed),
        tuple(findings),
        steps,
        with_hotfix,
        notes=tuple(notes),
    )


def _condition(bug: Bug, pins: Pins) -> Optional[str]:
    """The other packages that a bug needs and that may be there; empty if all are; None if one is not."""
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


_WORST = ("security", "crash")


def _steps(findings: Sequence[PinnedBug], allowed: Sequence[Version], releases: Sequence[Version]) -> tuple[Step, ...]:
    """The nearest releases without the worst of the unrepaired bugs, without the silent ones, and without any.

    Bugs that the newest release has are left out: no upgrade ends them.
    """
    rest = [finding.bug for finding in findings if not finding.bug.repaired and not finding.bug.is_in(releases[-1])]
    here = {finding.bug.id for finding in findings}
    steps: list[Step] = []
    for ends, ending in (
        ("crashes", [bug for bug in rest if bug.kind in _WORST]),
        ("silent bugs", [bug for bug in rest if bug.kind in (*_WORST, "silent")]),
        ("all", rest),
    ):
        later = (version for version in releases if ending and version > min(allowed))
        release = next((version for version in later if not any(bug.is_in(version) for bug in ending)), None)
        if release is None or (steps and steps[-1].release == release and ends != "all"):
            continue
        ended = sum(not bug.is_in(release) for bug in rest)
        new = [bug for bug in bugs.known().values() if bug.is_in(release) and bug.id not in here]
        steps = [step for step in steps if step.release < release]
        steps.append(Step(release, ends, ended, len(new), sum(not bug.repaired for bug in new)))
    return tuple(steps)


def to_dict(scan: Scan) -> dict[str, Any]:
    """The public form, which ``--format json`` prints for each file."""
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
                **finding.bug.to_dict(),
                "releases": [str(release) for release in finding.releases],
                "condition": finding.condition,
                "ignored": scan.ignored.get(finding.bug.id, ""),
            }
            for finding in scan.findings
        ],
        "upgrade": str(scan.steps[-1].release) if scan.steps else None,
        "new_bugs_in_upgrade": scan.steps[-1].new if scan.steps else 0,
        "upgrades": [
            {"release": str(step.release), "ends": step.ends, "ended": step.ended, "new": step.new}
            for step in scan.steps
        ],
        "notes": list(scan.notes),
    }
