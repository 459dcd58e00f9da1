"""``hotfix check-model``: check that a release reads a checkpoint as it was saved."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from packaging.version import Version

    from ...checkpoints._checkpoint import Checkpoint, Misreading

HELP = "check whether a release reads a checkpoint as it was saved"
EXAMPLES = (
    "hotfix check-model ./my-finetune",
    "hotfix check-model ./my-finetune --release 4.51.3",
    "hotfix check-model organization/model --json",
)
PACKAGE = "transformers"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="the folder of a checkpoint, or the name of a cached repository")
    parser.add_argument("--release", metavar="R", help="release of transformers (default: the installed one)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; the status is 1 if the release does not read the checkpoint as it was saved."""
    from .. import screen

    answer = examine(chosen.path, chosen.release)
    if chosen.json:
        screen.print_json(answer.to_dict())
    else:
        _show(answer)
    return 1 if answer.is_harmed else 0


@dataclass(frozen=True)
class Answer:
    """The judgement of a checkpoint for a release.

    Attributes:
        checkpoint: the checkpoint.
        release: the release.
        installed: whether it is the installed release.
        findings: the parts that it misreads or refuses, and notes.
        cures: the repair of each finding.
        right: the releases that read it as it was saved, as runs.
        first: the first release that has such a model; empty if none has, or its code comes with it.
    """

    checkpoint: Checkpoint
    release: Version
    installed: bool
    findings: Sequence[Misreading]
    cures: Sequence[str]
    right: Sequence[str]
    first: str

    @property
    def is_harmed(self) -> bool:
        """Whether the release does not read the checkpoint as it was saved."""
        return any(misreading.is_harmful for misreading in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The public form, as in ``hotfix check-model --json``."""
        return {
            "folder": str(self.checkpoint.folder),
            "model_type": self.checkpoint.model_type,
            "written_by": self.checkpoint.writer,
            "release": str(self.release),
            "installed": self.installed,
            "findings": [
                {**misreading.to_dict(), "hotfix": cure} for misreading, cure in zip(self.findings, self.cures)
            ],
            "read_right_by": list(self.right),
            "model_since": self.first,
        }


def examine(path: str, asked: Optional[str] = None) -> Answer:
    """Judge a checkpoint.

    Args:
        path: as on the command line.
        asked: the release; the installed one if None.

    Raises:
        CommandError: there is no such folder, or the release is not known.
    """
    from ...releases import by_release
    from . import checkpoint

    read = checkpoint.read(path)
    release, source, installed = _release(asked)
    findings = checkpoint.judge(read, release, source)
    types = by_release.model_types()
    first = "" if read.needs_code or read.model_type not in types else str(types[read.model_type][0])
    # A file that no release can read is refused by all.
    right = [
        version
        for version in (() if read.unreadable else by_release.releases())
        if not any(
            misreading.is_harmful for misreading in checkpoint.judge(read, version, by_release.source_of(version))
        )
    ]
    cures = [_cure(misreading, release) for misreading in findings]
    return Answer(read, release, installed, findings, cures, _runs(right, by_release.releases()), first)


# ----------------------------------------------------------------------------------------------------------------------


def _release(asked: Optional[str]) -> tuple[Version, Any, bool]:
    """The release, its source, and whether it is the installed one."""
    from packaging.version import Version

    from ...loading import forms
    from ...releases import by_release
    from ...versions import installed
    from ...versions.verdict import read_installed
    from .. import CommandError

    here = installed.version(PACKAGE)
    try:
        release = Version(asked) if asked else here
    except ValueError:  # InvalidVersion, and a number of thousands of digits
        raise CommandError(f"--release {str(asked)[:60]}: not a release; write it like 4.49.0") from None
    if release is None:
        raise CommandError(f"{PACKAGE} is not installed here; name a release with --release")
    if release == here:
        return release, forms.Release(read_installed), True
    known = by_release.releases()
    if release not in known:
        raise CommandError(f"--release {release}: not an examined release; those are {known[0]} to {known[-1]}")
    return release, by_release.source_of(release), False


def _cure(finding: Misreading, release: Version) -> str:
    """The repair of a finding in a release, in a few words."""
    from .. import bugs

    if not finding.is_harmful and not finding.fixes:
        return ""
    for id in finding.fixes:
        bug = bugs.known().get(id)
        if bug is not None and bug.repaired and bug.is_in(release):
            return f"opt-in: {id}" if bug.optin else f"repaired: {id}"
    return "nothing"


def _runs(members: Iterable[Version], known: Sequence[Version]) -> list[str]:
    """Releases as runs of consecutive releases: ``4.51.0 - 4.57.6``."""
    position = {version: number for number, version in enumerate(known)}
    runs: list[list[int]] = []
    for number in sorted(position[version] for version in members):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [str(known[first]) if first == last else f"{known[first]} - {known[last]}" for first, last in runs]


def _show(answer: Answer) -> None:
    from ..screen import Screen

    screen = Screen()
    read = answer.checkpoint
    known = " (installed)" if answer.installed else ""
    facts = [
        ("checkpoint", str(read.folder)),
        ("model", read.model_type or "-"),
        ("written by", f"{PACKAGE} {read.writer}" if read.writer else "not in its files"),
        ("read by", f"{PACKAGE} {answer.release}{known}"),
        ("read right by", ", ".join(answer.right) or "none of the examined releases"),
    ]
    if answer.first:
        facts.insert(2, ("model since", answer.first))
    screen.facts(facts)
    if answer.findings:
        rows = [
            (misreading.effect.value, misreading.file, misreading.key, misreading.sentence, cure)
            for misreading, cure in zip(answer.findings, answer.cures)
        ]
        screen.line()
        screen.table(("effect", "file", "key", "why", "hotfix"), rows)
    screen.line()
    screen.line(_summary(answer), "bold")


def _summary(answer: Answer) -> str:
    harmful = [cure for misreading, cure in zip(answer.findings, answer.cures) if misreading.is_harmful]
    name = f"{PACKAGE} {answer.release}"
    if not harmful:
        unread = len(answer.checkpoint.unread)
        rest = f" in the rest; {unread} file{'s were' if unread > 1 else ' was'} not checked" if unread else ""
        return f"{name} misreads or refuses nothing{rest}."
    repaired = sum(cure.startswith("repaired") for cure in harmful)
    left = len(harmful) - repaired
    if not left:
        return f"{name} does not read it as it was saved; with hotfix it does."
    with_hotfix = f"; with hotfix {left} remain" if repaired else ", and hotfix does not repair it"
    things = "thing" if len(harmful) == 1 else "things"
    return f"{name} does not read it as it was saved ({len(harmful)} {things}){with_hotfix}."
