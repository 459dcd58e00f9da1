"""Summarizes the records of all processes of a job: do they agree, and is a rank missing?

One folder holds the records of one job (``HOTFIX_RECORD``, see `hotfix.reports.record`). Two processes agree if their
digests are equal; other differences are listed as an explanation. An unreadable record agrees with no other.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from .tables import clean, number_ranges
from .trees import Tree, json_of

_NAMED = 10


@dataclass(frozen=True)
class Group:
    """The processes with one digest.

    Attributes:
        digest: the digest.
        processes: the number of processes.
        hosts: their hosts.
        ranks: their ranks, in order, as far as known.
        examples: host and process number of the first few.
        differences: how this group differs from the largest one, in sentences; empty for the largest one.
    """

    digest: str
    processes: int
    hosts: tuple[str, ...]
    ranks: tuple[int, ...]
    examples: tuple[str, ...]
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """The summary of the records of a job.

    Attributes:
        processes: the number of records.
        ended: how many of the processes have ended; the others are running or were killed.
        world_size: number of ranks of the job, as its launcher gave it; 0 if it gave none.
        missing: ranks without a record.
        groups: the processes by digest, the largest group first.
        failures: repairs that should be in place and are not, in sentences.
        unreadable: files in the folder that are not records, and why.
        observed: the counts by fix and function, summed over all processes; see
            `hotfix.reports.observed.summed`.
    """

    processes: int
    ended: int
    world_size: int
    missing: tuple[int, ...]
    groups: tuple[Group, ...]
    failures: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = field(default=())
    observed: tuple[dict[str, Any], ...] = ()

    @property
    def uniform(self) -> bool:
        """Whether there is a record, each can be read, all digests are equal and no rank is missing."""
        return len(self.groups) == 1 and not self.missing and not self.unreadable

    def to_dict(self) -> dict[str, Any]:
        """The public form, as printed by ``hotfix fleet --json``."""
        return {
            "uniform": self.uniform,
            "processes": self.processes,
            "ended": self.ended,
            "world_size": self.world_size,
            "missing": list(self.missing),
            "groups": [
                {
                    "digest": group.digest,
                    "processes": group.processes,
                    "hosts": list(group.hosts),
                    "ranks": list(group.ranks),
                    "examples": list(group.examples),
                    "differences": list(group.differences),
                }
                for group in self.groups
            ],
            "failures": list(self.failures),
            "unreadable": list(self.unreadable),
            **({"observed": list(self.observed)} if self.observed else {}),
        }

    def to_json(self) -> str:
        """The public form as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        if not self.processes:
            return "\n".join(["No records.", *self._not_records()])
        hosts = {host for group in self.groups for host in group.hosts}
        lines = [f"{_count(self.processes, 'process', 'processes')} on {_count(len(hosts), 'host')}"]
        for group in self.groups:
            plural = "s" * (len(group.ranks) > 1)
            ranks = f", rank{plural} {number_ranges(group.ranks)}" if group.ranks else ""
            lines.append(f"  {group.digest}  {_count(group.processes, 'process', 'processes')}{ranks}")
            lines += [f"      {sentence}" for sentence in group.differences]
            if group.differences:
                lines.append(f"      for instance {', '.join(group.examples)}")
        if self.missing:
            ranks = number_ranges(self.missing)
            lines.append(
                f"No record of rank {ranks} out of {self.world_size}: hotfix was off, or it never came to its import."
            )
        lines += [f"Failed: {sentence}" for sentence in self.failures]
        if self.observed:
            from .observed import in_a_job

            lines += in_a_job(self.observed)
        lines += self._not_records()
        lines.append(self._conclusion())
        return "\n".join(lines)

    def _conclusion(self) -> str:
        if self.uniform:
            return "All processes agree."
        if len(self.groups) > 1 or self.missing:
            return "THE PROCESSES OF THIS JOB DIFFER."
        files = _count(len(self.unreadable), "file")
        return f"WHETHER ALL PROCESSES AGREE IS NOT KNOWN: the records agree that can be read, and {files} cannot."

    def _not_records(self) -> list[str]:
        lines = [f"Not a record: {sentence}" for sentence in self.unreadable[:_NAMED]]
        if len(self.unreadable) > _NAMED:
            lines.append(f"Not records either: {len(self.unreadable) - _NAMED} more files.")
        return lines

    def to_prometheus(self) -> str:
        """The summary in the Prometheus text format, as printed by ``hotfix fleet --prometheus``."""
        lines = [
            "# HELP hotfix_uniform Whether all records can be read, have one patch set, and no rank is missing.",
            "# TYPE hotfix_uniform gauge",
            f"hotfix_uniform {int(self.uniform)}",
            "# HELP hotfix_processes Processes with a record, by patch set.",
            "# TYPE hotfix_processes gauge",
            *(f'hotfix_processes{{digest="{group.digest}"}} {group.processes}' for group in self.groups),
            "# HELP hotfix_processes_ended Processes that came to their end.",
            "# TYPE hotfix_processes_ended gauge",
            f"hotfix_processes_ended {self.ended}",
            "# HELP hotfix_ranks_missing Ranks without a record.",
            "# TYPE hotfix_ranks_missing gauge",
            f"hotfix_ranks_missing {len(self.missing)}",
            "# HELP hotfix_records_unreadable Files that cannot be read as records.",
            "# TYPE hotfix_records_unreadable gauge",
            f"hotfix_records_unreadable {len(self.unreadable)}",
            "# HELP hotfix_failed_repairs Repairs that should be in place and are not.",
            "# TYPE hotfix_failed_repairs gauge",
            f"hotfix_failed_repairs {len(self.failures)}",
        ]
        return "\n".join(lines)


def summarise(directory: Union[str, Path]) -> Summary:
    """Summarize the records in a folder.

    Args:
        directory: the value of ``HOTFIX_RECORD``.

    Raises:
        OSError: the folder cannot be read.
    """
    records, unreadable = read(Path(directory))
    by_digest: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_digest.setdefault(record["digest"], []).append(record)
    ordered = sorted(by_digest.items(), key=lambda item: (-len(item[1]), item[0]))
    groups = [_group(digest, members, ordered[0][1]) for digest, members in ordered]
    world_size = max((record.get("world_size") or 0 for record in records), default=0)
    present = {record["rank"] for record in records if record.get("rank") is not None}
    return Summary(
        processes=len(records),
        ended=sum(bool(record.get("ended")) for record in records),
        world_size=world_size,
        missing=tuple(sorted(set(range(world_size)) - present)),
        groups=tuple(groups),
        failures=tuple(_failures(records)),
        unreadable=tuple(unreadable),
        observed=tuple(_observed(records)),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Below: reading records, and describing differences.


def _observed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not any(record.get("observed") for record in records):
        return []
    from .observed import summed

    return summed(records)


def read(directory: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The records in a folder, and the other files, each with the reason why it is not a record.

    Args:
        directory: the value of ``HOTFIX_RECORD``.

    Raises:
        OSError: the folder cannot be read.
    """
    records, unreadable = [], []
    tree = Tree(directory)
    with os.scandir(directory) as listing:
        names = sorted(entry.name for entry in listing if entry.name.endswith(".json") and entry.name[0] != ".")
    for name in names:
        try:
            records.append(_checked(json_of(tree.read(directory / name, _LARGEST), _HEAVIEST)))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            unreadable.append(clean(f"{name} ({reason[:200]})"))
    return records, unreadable


def _checked(record: Any) -> dict[str, Any]:
    """A record whose entries have the expected types, without terminal control characters.

    Raises:
        ValueError: it is not a record.
    """
    if not isinstance(record, dict) or not isinstance(record.get("digest"), str):
        raise ValueError("not a record: it has no digest")
    for name, kind in _TYPES.items():
        value = record.get(name)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise ValueError(f"its {name} must be of type {kind.__name__}")
    for name in ("rank", "world_size"):
        if not 0 <= (record.get(name) or 0) <= _MOST_RANKS:
            raise ValueError(f"its {name} must be from 0 to {_MOST_RANKS}")
    if not all(isinstance(line, str) and line.count(" ") > 0 for line in record.get("patches") or ()):
        raise ValueError("its patches must be lines with a place and a fix")
    for outcome in record.get("outcomes") or ():
        if not isinstance(outcome, dict) or not all(isinstance(outcome.get(name), str) for name in _OF_AN_OUTCOME):
            raise ValueError("its outcomes must be objects with all fields")
    for row in record.get("observed") or ():
        if not isinstance(row, dict) or not all(isinstance(row.get(name), kind) for name, kind in _OF_A_COUNT.items()):
            raise ValueError("its observed calls must be objects with counts")
        first = row.get("first")
        if first is not None and not (
            isinstance(first, dict)
            and isinstance(first.get("time"), (int, float))
            and isinstance(first.get("place"), str)
        ):
            raise ValueError("the first observed call must have a time and a place")
    cleaned: dict[str, Any] = _clean(record)
    return cleaned


_LARGEST = 8 * 1024 * 1024  # bytes of a record; one of all fixes has some hundred thousand
_HEAVIEST = 256 * 1024 * 1024  # bytes of a record in memory
_MOST_RANKS = 1_000_000
_TYPES: dict[str, type] = {
    "rank": int,
    "world_size": int,
    "host": str,
    "packages": dict,
    "switches": dict,
    "patches": list,
    "outcomes": list,
    "observed": list,
    "mode": str,
}
_OF_A_COUNT: dict[str, type] = {
    "fix": str,
    "place": str,
    "wrong": str,
    "why_not": str,
    **dict.fromkeys(("calls", "asked", "struck", "untold", "every"), int),
}
_OF_AN_OUTCOME = ("fix", "target", "verdict", "state", "reason")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value, "")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(name), ""): _clean(item) for name, item in value.items()}
    return value


def _group(digest: str, members: list[dict[str, Any]], largest: list[dict[str, Any]]) -> Group:
    return Group(
        digest=digest,
        processes=len(members),
        hosts=tuple(sorted({str(member.get("host")) for member in members})),
        ranks=tuple(sorted({member["rank"] for member in members if member.get("rank") is not None})),
        examples=tuple(f"{member.get('host')}:{member.get('pid')}" for member in members[:3]),
        differences=() if members is largest else tuple(_differences(members[0], largest[0])),
    )


def _differences(different: dict[str, Any], usual: dict[str, Any]) -> list[str]:
    """How a record differs from a record of the largest group."""
    versions = [
        {"hotfix": record.get("hotfix"), "python": record.get("python"), **(record.get("packages") or {})}
        for record in (different, usual)
    ]
    sentences = _entries(versions[0], versions[1], " ", "no ")
    # The folder of the records is not part of the patch set.
    switches = [
        {name: value for name, value in (record.get("switches") or {}).items() if name != "HOTFIX_RECORD"}
        for record in (different, usual)
    ]
    sentences += _entries(switches[0], switches[1], "=", "without ")
    sentences += compare_patches(different.get("patches") or (), usual.get("patches") or ())
    why = {(outcome["fix"], outcome["target"]): outcome for outcome in different.get("outcomes") or ()}
    for patch in sorted(set(usual.get("patches") or ()) - set(different.get("patches") or ())):
        outcome = why.get(tuple(patch.split(" ")[:2]))
        if outcome and outcome["state"] != "applied":
            sentences.append(f"{outcome['target']} is {outcome['verdict']}, {outcome['state']}: {outcome['reason']}")
    return sentences


def _entries(different: dict[str, Any], usual: dict[str, Any], sign: str, without: str) -> list[str]:
    sentences = []
    for name in sorted({*different, *usual}):
        mine, theirs = (
            f"{name}{sign}{table[name]}" if name in table else f"{without}{name}" for table in (different, usual)
        )
        if mine != theirs:
            sentences.append(f"{mine} instead of {theirs}")
    return sentences


def compare_patches(ours: Iterable[str], usual: Iterable[str]) -> list[str]:
    """How one patch set differs from another, in sentences.

    Args:
        ours: the patch lines, as in `hotfix.reports.report.Report.patches`.
        usual: the patch lines to compare with.
    """
    mine, theirs = (
        {tuple(patch.split(" ")[:2]): patch.split(" ")[2:] for patch in patches} for patches in (ours, usual)
    )
    if not mine and len({fix for fix, _ in theirs}) > 1:
        return ["nothing is repaired there"]
    by_sentence: dict[tuple[str, str], list[str]] = {}
    for fix, target in sorted({*mine, *theirs}):
        here, there = mine.get((fix, target)), theirs.get((fix, target))
        if here is None:
            by_sentence.setdefault((fix, "without {fix} on {where}"), []).append(target)
        elif there is None:
            by_sentence.setdefault((fix, "{fix} on {where} in addition"), []).append(target)
        elif here[:1] != there[:1]:
            other = f"({here[0]} instead of {there[0]})"
            by_sentence.setdefault((fix, f"{{fix}} on {{where}} repairs other source {other}"), []).append(target)
        elif here != there:
            by_sentence.setdefault((fix, "{fix} is another version of that fix"), []).append(target)
    sentences = [text.format(fix=fix, where=_functions(targets)) for (fix, text), targets in by_sentence.items()]
    if len(sentences) > _NAMED:
        sentences[_NAMED:] = [f"and {len(sentences) - _NAMED} differences more"]
    return sentences


def _functions(targets: list[str]) -> str:
    return targets[0] if len(targets) == 1 else f"{len(targets)} functions ({targets[0]} and others)"


def _failures(records: list[dict[str, Any]]) -> list[str]:
    counted = Counter(
        f"{outcome['fix']} on {outcome['target']}: {outcome['reason']}"
        for record in records
        for outcome in record.get("outcomes") or ()
        if outcome["state"] == "failed"
    )
    return [f"{sentence} ({_count(number, 'process', 'processes')})" for sentence, number in sorted(counted.items())]


def _count(number: int, singular: str, many: str = "") -> str:
    return f"{number} {singular if number == 1 else many or singular + 's'}"
