"""``hotfix audit PATH``: the silent bugs that a run may have triggered, by the files that it left.

The release determines the broken functions, the configuration those that belong to the model, and the trigger of each
fix the condition under which a call gives a wrong result. The trigger decides how much the files show of this condition
(`hotfix.trigger.Trigger.in_files`). The report never claims that a bug was triggered: files can prove that a condition
was met, or that it cannot have been met, and often they prove neither.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from packaging.version import InvalidVersion, Version

from ... import session, trigger
from ...engine.entry import concerns, folder_of
from ...reports.tables import counted
from ...trigger import FACTS, Files, Trigger
from .. import bugs
from ..bugs import PACKAGE, Bug
from . import run_folder
from .run_folder import Release, Run

if TYPE_CHECKING:
    from ..screen import Screen


class Group(str, Enum):
    """The evidence of the files for a bug that the release has."""

    MET = "met"  #: the condition that triggers it was met
    OPEN = "open"  #: it is not known whether it was met
    EXCLUDED = "excluded"  #: it cannot have been


@dataclass(frozen=True)
class PossibleBug:
    """One silent bug that a release had for this model.

    Attributes:
        bug: the bug.
        releases: the named releases that have it.
        group: the evidence of the files for its condition.
        why: the reason for the group, as part of a sentence.
        when: the calls that trigger it; empty if they are not described.
        wrong: the wrong result.
        known: the facts in the files that the condition depends on, as ``accumulation steps: 4 (README.md)``.
        unknown: the facts that it depends on and that are not in the files.
    """

    bug: Bug
    releases: tuple[str, ...]
    group: Group
    why: str
    when: str = ""
    wrong: str = ""
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The public form."""
        return {
            "id": self.bug.id,
            "title": self.bug.title,
            "group": self.group.value,
            "why": self.why,
            "releases": list(self.releases),
            "when": self.when,
            "wrong": self.wrong,
            "known": list(self.known),
            "unknown": list(self.unknown),
            "repaired": self.bug.repaired,
            "optin": self.bug.optin,
            "fixed_in": [str(version) for version in self.bug.fixed_in],
        }


@dataclass(frozen=True)
class Audit:
    """The bugs that a run may have triggered.

    Attributes:
        run: the facts from its files.
        judged: the named releases that were examined.
        findings: the silent bugs of these releases, the worst group first.
        notes: what could not be judged, as sentences.
    """

    run: Run
    judged: tuple[str, ...]
    findings: tuple[PossibleBug, ...]
    notes: tuple[str, ...] = ()

    def of(self, group: Group) -> list[PossibleBug]:
        """The findings of a group."""
        return [finding for finding in self.findings if finding.group is group]

    def to_dict(self) -> dict[str, Any]:
        """The public form, as in ``hotfix audit PATH --json``."""
        return {
            "folder": str(self.run.folder),
            "releases": [
                {
                    "release": named.release,
                    "file": named.file,
                    "what": named.what,
                    "judged": named.release in self.judged,
                }
                for named in self.run.releases
            ],
            "model_types": sorted(self.run.files.model_types),
            "files_say": [{"name": fact.name, "value": fact.value, "file": fact.file} for fact in self.run.files.said],
            "repaired": sorted(self.run.repaired),
            "findings": [finding.to_dict() for finding in self.findings],
            "unread": [{"file": file, "why": why} for file, why in self.run.unread.items()],
            "notes": list(self.notes),
        }


def audit(path: Path, chosen: argparse.Namespace) -> int:
    """Print the silent bugs that the run with these files may have triggered.

    Args:
        path: folder of a checkpoint, or of results.
        chosen: ``json``, ``fail`` and ``all``.

    Returns:
        0; with ``fail`` 1 if a bug may have been triggered.

    Raises:
        CommandError: it is no folder.
    """
    judged = examine(path)
    if chosen.json:
        from ..screen import print_json

        print_json(judged.to_dict())
    else:
        _show(judged, getattr(chosen, "all", False))
    return int(bool(chosen.fail and any(finding.group is not Group.EXCLUDED for finding in judged.findings)))


def examine(path: Path) -> Audit:
    """Judge the run whose files are in a folder.

    Raises:
        CommandError: it is no folder.
    """
    run = run_folder.read(path)
    releases, notes = _examined(run.releases)
    if not run.releases:
        notes.append(f"no file names a release of {PACKAGE}, so this run cannot be judged")
    if releases and not run.files.model_types:
        notes.append("no file names a model type, so only the bugs of modules that all models share were checked")
    if run.files.own_code:
        notes.append("the model comes with its own code, which may differ from that of the release and is not examined")
    findings = [
        finding
        for bug in bugs.known().values()
        if bug.kind == "silent" and (finding := _finding(bug, run, releases)) is not None
    ]
    order = list(Group)
    findings.sort(
        key=lambda finding: (order.index(finding.group), not finding.bug.repaired, finding.bug.optin, finding.bug.id)
    )
    return Audit(run, tuple(releases), tuple(findings), (*run.notes, *notes))


# ----------------------------------------------------------------------------------------------------------------------
# Below: the bugs that a release has for a model.


def _examined(named: Sequence[Release]) -> tuple[dict[str, Version], list[str]]:
    """The examined releases by the text that names them, and a note for each text that names none."""
    known = bugs.examined()
    judged: dict[str, Version] = {}
    notes = []
    for text in dict.fromkeys(mention.release for mention in named):
        files = ", ".join(mention.file for mention in named if mention.release == text)
        try:
            version = Version(text)
        except InvalidVersion:
            notes.append(f"{text!r} ({files}) is not a version")
            continue
        release = bugs.counts_as(version)
        if release not in known:
            within = f"{known[0]} to {known[-1]}"
            notes.append(f"{PACKAGE} {text} ({files}) was never examined (examined: {within}), so it cannot be judged")
            continue
        if release != version:
            notes.append(f"{PACKAGE} {text} ({files}) counts as {release} here, but may differ from it")
        judged[text] = release
    if len(set(judged.values())) > 1:
        mentions = ", ".join(f"{mention.release} ({mention.file}: {mention.what})" for mention in named)
        notes.append(f"the files name more than one release, and each was checked: {mentions}")
    return judged, notes


def has(bug: Bug, release: Version, folders: frozenset[str]) -> bool:
    """Whether a release has a bug for a model; see `hotfix.engine.entry.concerns`.

    Args:
        bug: the bug.
        release: the release.
        folders: of the model and its parts, in ``transformers.models``.
    """
    entry = session.current().catalogue.entries.get(bug.id)
    if entry is not None:
        return concerns(entry.targets, release, folders)
    return any(concerns(dict.fromkeys(bug.where, str(specifier)), release, folders) for specifier in bug.broken)


def folders_of(model_types: Iterable[str], release: Version) -> frozenset[str]:
    """The folders in ``transformers.models`` that have the models of these types in a release.

    Args:
        model_types: as configurations name them; ``siglip_vision_model`` is in the folder ``siglip``.
        release: one that was examined.
    """
    from ...releases import by_release

    known = by_release.releases()
    # A later release may have a type, mostly of a part of a model, that this one lacks.
    candidates = [release, *(later for later in known if later > release)] if release in known else []
    folders = set()
    for model_type in model_types:
        readings = (by_release.source_of(candidate).class_of(model_type) for candidate in candidates)
        understood = next(filter(None, readings), None)
        folders.add(folder_of(understood.module) if understood else model_type.replace("-", "_"))
    return frozenset(folders)


# ----------------------------------------------------------------------------------------------------------------------
# Below: the evidence of the files for one bug.


def _finding(bug: Bug, run: Run, releases: Mapping[str, Version]) -> Optional[PossibleBug]:
    shared = _folders_of_processors(bug, run.files.processor)
    hit = tuple(
        text
        for text, release in releases.items()
        if has(bug, release, folders_of(run.files.model_types, release) | shared)
    )
    if not hit:
        return None
    condition = _trigger(bug)
    base = PossibleBug(
        bug, hit, Group.OPEN, "", (condition and condition.when) or "", (condition and condition.wrong) or ""
    )
    if bug.id in run.repaired:
        return replace(base, group=Group.EXCLUDED, why=f"hotfix had repaired it, according to {run.repaired[bug.id]}")
    if bug.id in run.struck:
        number, file = run.struck[bug.id]
        return replace(base, group=Group.MET, why=f"it was triggered on {counted(number, 'call')} ({file})")
    lacking = _lacking(bug, run)
    if lacking:
        return replace(base, group=Group.EXCLUDED, why=lacking)
    if condition is None or condition.files is None:
        why = "files do not show its condition" if base.when else _why_not(condition)
        return replace(base, why=why)
    asked = _Asked()
    answers = {text: _answer(condition, replace(run.files, release=str(releases[text])), asked) for text in hit}
    base = replace(base, known=asked.known(run.files), unknown=asked.unknown(run.files))
    if all(answer is False for answer in answers.values()):
        return replace(base, group=Group.EXCLUDED, why="the files exclude its condition")
    if any(answer is True for answer in answers.values()):
        if len(set(releases.values())) == 1 and len(run.files.releases) == 1:
            return replace(base, group=Group.MET, why="the files show that its condition was met")
        said = " and ".join(text for text, answer in answers.items() if answer)
        return replace(base, why=f"its condition was met if the run used {said}; the files name other releases, too")
    return replace(base, why="the files do not show it")


def _folders_of_processors(bug: Bug, configuration: Mapping[str, Any]) -> frozenset[str]:
    """The folders of the processor that a model takes from another model, if a bug is about it.

    Args:
        bug: the bug.
        configuration: ``preprocessor_config.json``; it names one of the two or three forms that a processor has.
    """
    names = (configuration.get(f"{kind}_type") for kind in ("image_processor", "feature_extractor", "video_processor"))
    stems = {_stem(name) for name in names if isinstance(name, str)}
    keys = (key.partition(":") for key in bug.where if key.startswith(f"{PACKAGE}.models."))
    return frozenset(folder_of(module) for module, _, name in keys if _stem(name.partition(".")[0]) in stems)


def _stem(name: str) -> str:
    return name.removesuffix("Fast").removesuffix("Pil")


def _answer(condition: Trigger, files: Files, asked: _Asked) -> Optional[bool]:
    question = condition.files
    assert question is not None
    try:
        answer = question(asked.of(files))
    except Exception:  # a trigger that fails on odd files must not affect the others
        return None
    return None if answer is None else bool(answer)


class _Asked:
    """Records the attributes of `Files` that a trigger reads."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def of(self, files: Files) -> Any:
        """The same files, with a record of each attribute that is read."""
        names = self.names

        class Watched(Files):
            def __getattribute__(self, name: str) -> Any:
                if name in FACTS:
                    names[name] = None
                return super().__getattribute__(name)

        return Watched(**{name: getattr(files, name) for name in Files.__dataclass_fields__})

    def known(self, files: Files) -> tuple[str, ...]:
        """The facts that were read and that the files contain."""
        return tuple(_fact(files, name) for name in FACTS if name in self.names and _is_told(files, name))

    def unknown(self, files: Files) -> tuple[str, ...]:
        """The facts that were read and that the files do not contain."""
        return tuple(FACTS[name] for name in FACTS if name in self.names and not _is_told(files, name))


def _is_told(files: Files, name: str) -> bool:
    value = getattr(files, name)
    return value is not None and value not in ((), frozenset())


def _fact(files: Files, name: str) -> str:
    """``accumulation steps: 4 (README.md)``."""
    values: dict[str, list[str]] = {}
    for fact in files.said:
        if fact.name == name:
            values.setdefault(_word(fact.value), []).append(fact.file)
    return f"{FACTS[name]}: " + ", ".join(f"{value} ({_places_of(places)})" for value, places in values.items())


def _word(value: object) -> str:
    return {"True": "yes", "False": "no"}.get(str(value), str(value))


def _places_of(files: Sequence[str]) -> str:
    more = len(files) - 2
    return ", ".join(files[:2]) + (f" and {more} more" if more > 0 else "")


def _lacking(bug: Bug, run: Run) -> str:
    """Why the other installed packages exclude it; empty if they do not, or if they are not known."""
    for name, specifier in bug.needs.items():
        version = run.files.packages.get(name)
        if version is not None:
            try:
                if not specifier.contains(Version(version), prereleases=True):
                    return f"it needs {name}{specifier}, and {version} was installed"
            except InvalidVersion:
                continue
        elif run.pinned is not None and name not in run.pinned:
            return f"it needs {name}, which is not among what is pinned"
    return ""


def _why_not(condition: Optional[Trigger]) -> str:
    if condition is not None and condition.why_not:
        return condition.why_not
    return "the condition that triggers it is not described; its title says what happens"


def _trigger(bug: Bug) -> Optional[Trigger]:
    entry = session.current().catalogue.entries.get(bug.id)
    return trigger.load(bug.id, entry.module) if entry is not None else None


# ----------------------------------------------------------------------------------------------------------------------
# Below: printing.

_LINES = 26  # of one screen for the facts and one table of bugs
_MARGIN = 24  # columns that the names of the facts take
_NAMED = 5
_HEADINGS = {
    Group.MET: "Probably triggered, since the files show that the condition was met:",
    Group.OPEN: "Possibly triggered; the files do not show whether the condition was met:",
    Group.EXCLUDED: "Not triggered, according to the files:",
}


def _show(audit: Audit, whole: bool) -> None:
    from ..screen import Screen

    screen = Screen()
    run = audit.run
    facts = [("folder", str(run.folder))]
    facts += [(PACKAGE, line) for line in _named(run.releases)]
    facts += [(FACTS[name], _fact(run.files, name).partition(": ")[2]) for name in FACTS if _is_told(run.files, name)]
    if run.repaired:
        facts.append(("repaired then", ", ".join(sorted(run.repaired))))
    facts += [("not read", f"{file}: {why}") for file, why in run.unread.items()]
    screen.facts(facts)
    for group, heading in _HEADINGS.items():
        members = audit.of(group)
        if not members:
            continue
        screen.line()
        if whole or screen.width is None:
            screen.line(heading, "bold")
            _print_group(screen, group, members)
        elif group is Group.EXCLUDED:
            screen.line(f"{heading} {_shown_ids(members)}.")
        else:
            room = _LINES - sum(max(1, len(value) // (screen.width - _MARGIN) + 1) for _, value in facts)
            shown = members[: max(room // 2, 2)]
            screen.line(heading, "bold")
            rows = [(finding.bug.id, finding.bug.cure(), _condition(finding)) for finding in shown]
            screen.table(("bug", "hotfix", "triggered when"), rows, cut=True)
            if len(shown) < len(members):
                screen.line(
                    f"And {counted(len(members) - len(shown), 'more bug')}; --all lists all, with the evidence."
                )
    for note in audit.notes:
        screen.line()
        screen.line(f"Note: {note}.")
    screen.line()
    screen.line(_summary(audit), "bold")


def _print_group(screen: Screen, group: Group, members: Sequence[PossibleBug]) -> None:
    """Print all bugs of a group, with the evidence."""
    if group is Group.EXCLUDED:
        excluded = [(finding.bug.id, finding.when or finding.bug.title, _reasons(finding)) for finding in members]
        screen.table(("bug", "triggered when", "evidence"), excluded)
    else:
        rows = [(finding.bug.id, _condition(finding), _reasons(finding), finding.bug.cure()) for finding in members]
        screen.table(("bug", "triggered when", "evidence", "hotfix"), rows)


def _shown_ids(members: Sequence[PossibleBug]) -> str:
    ids = [finding.bug.id for finding in members]
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more


def _named(releases: Sequence[Release]) -> Iterator[str]:
    """The releases, grouped by the statements of the files about them."""
    by_what: dict[tuple[str, str], list[str]] = {}
    for mention in releases:
        by_what.setdefault((mention.release, mention.what), []).append(mention.file)
    for (release, what), files in by_what.items():
        yield f"{release}: {what} ({_places_of(files)})"


def _condition(finding: PossibleBug) -> str:
    return f"{finding.when}: {finding.wrong}" if finding.when else finding.bug.title


def _reasons(finding: PossibleBug) -> str:
    if not finding.known and not finding.unknown:
        return finding.why
    missing = (
        [f"not in the files: {', '.join(finding.unknown)}"] if finding.unknown and finding.group is Group.OPEN else []
    )
    reasons = finding.known if finding.group is not Group.OPEN or finding.unknown else (finding.why, *finding.known)
    return "; ".join([*reasons, *missing])


def _summary(audit: Audit) -> str:
    met, open_ones, excluded = (len(audit.of(group)) for group in Group)
    if not audit.judged:
        return "Nothing could be judged."
    releases = " and ".join(f"{PACKAGE} {text}" for text in audit.judged)
    if not audit.findings:
        return f"{releases}: no known silent bug for this model."
    return (
        f"{releases}: {counted(len(audit.findings), 'known silent bug')} for this model: "
        f"the files show the condition of {met}, exclude {excluded}, and leave {open_ones} open."
    )
