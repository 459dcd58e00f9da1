"""The counts in words, for one process and for all processes of a job."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from ..engine import job
from ..engine.entry import Entry
from ..engine.log import Log
from ..engine.policy import Mode
from ..observing.counter import Counted
from .tables import number_ranges


def say_at_exit(
    log: Log, mode: Mode, counted: Callable[[], Iterable[Counted]], entries: Callable[[], Mapping[str, Entry]]
) -> None:
    """At the end of this process, log on the first rank one line for each triggered bug.

    Its children log nothing: they count for themselves, and their records have the counts.

    Args:
        log: writes the lines.
        mode: ``repair`` or ``observe``.
        counted: returns the counts.
        entries: returns the catalogue entry of each fix.
    """
    atexit.register(_say, log, mode, counted, entries, os.getpid())


def _say(
    log: Log, mode: Mode, counted: Callable[[], Iterable[Counted]], entries: Callable[[], Mapping[str, Entry]], pid: int
) -> None:
    parent = getattr(sys.modules.get("multiprocessing"), "parent_process", None)
    is_child = os.getpid() != pid or (parent is not None and parent() is not None)
    if not is_child and job.rank() in (None, 0):
        for line in sentences(counted(), mode, entries()):
            if mode == "repair":
                log.notice(line)
            else:
                log.log(logging.WARNING, line)


def sentences(counted: Iterable[Counted], mode: str, entries: Mapping[str, Entry]) -> list[str]:
    """One sentence for each bug that was triggered, or would have been.

    Args:
        counted: the counts of one process.
        mode: ``repair`` or ``observe``.
        entries: the catalogue entry of each fix.
    """
    return [sentence(count, mode, entries.get(count.fix)) for count in counted if count.struck]


def sentence(count: Counted, mode: str, entry: Any = None) -> str:
    """The triggered bug, how often, where first, the error in the result, and the switch that repairs it.

    Args:
        count: the counts, with at least one call that triggered the bug.
        mode: ``repair`` or ``observe``.
        entry: the catalogue entry of the fix.
    """
    calls = times(count)
    if mode == "repair":
        return f"{count.fix}: spared {calls}: unrepaired, {count.wrong}."
    first = f", first in {count.first.place} at {clock(count.first.time)}" if count.first else ""
    return f"{count.fix} struck on {calls}{first}: {count.wrong}. {switch(count.fix, entry)}"


def in_a_job(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line for each bug that was triggered in a job.

    Args:
        rows: as `summed` returns them.
    """
    sentences = []
    for row in rows:
        if row["struck"]:
            first = f", first in {place_of(row)}" if row["first"] else ""
            sentences.append(f"{row['fix']} struck on {counts_of(row)}{first}: {row['wrong']}.")
    return sentences


def counts_of(row: Mapping[str, Any]) -> str:
    """How many calls of a function triggered a bug, and on which ranks; or the number of its calls.

    Args:
        row: as `summed` returns them.
    """
    count = Counted(**{name: row[name] for name in _OF_ONE}, first=None)
    ranks = f", rank {number_ranges(row['ranks'])}" if row["ranks"] else ""
    if row["when"] is None:
        name = count.place.partition(":")[2]
        return f"{count.calls:,} call{'s' * (count.calls != 1)} of {name}"
    untold = f", not told of {count.untold:,}" if count.untold else ""
    return f"{times(count)}{untold}{ranks}"


def place_of(row: Mapping[str, Any]) -> str:
    """Where and when a bug was first triggered."""
    return f"{row['first']['place']} at {clock(row['first']['time'])}"


def times(count: Counted) -> str:
    """How many calls of a function triggered a bug."""
    name = count.place.partition(":")[2]
    of = f"{count.struck:,} of {count.asked:,} calls"
    sampled = f" that were examined, of {count.calls:,}" if count.every > 1 else ""
    return f"{of} of {name}{sampled}"


def switch(fix: str, entry: Any = None) -> str:
    """The setting that repairs a bug."""
    if entry is not None and entry.optin:
        return f"HOTFIX_MODE=repair with HOTFIX_OPTIN={fix} repairs it."
    return "HOTFIX_MODE=repair repairs it."


def clock(seconds: float) -> str:
    """Date and time, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def summed(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The counts of all processes of a job, by fix and place; the most triggered bug comes first.

    Args:
        records: as `hotfix.reports.record` writes them.

    Returns:
        As `Counted.to_dict`, with the number of processes that called the function (``processes``), the ranks on which
        the bug was triggered (``ranks``), and why calls may be missing (``missing``), in sentences.
    """
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        for counted in record.get("observed") or ():
            row = sums.setdefault(
                (counted["fix"], counted["place"]), {**counted, **_NOTHING, "first": None, "ranks": [], "missing": []}
            )
            row["compiled"] = bool(row.get("compiled") or counted.get("compiled"))
            row["missing"] = list(dict.fromkeys([*row["missing"], *_missing(record, counted)]))
            for name in ("calls", "asked", "struck", "untold"):
                row[name] += counted[name]
            row["processes"] += bool(counted["calls"])
            if counted["struck"] and record.get("rank") is not None:
                row["ranks"] = sorted({*row["ranks"], record["rank"]})
            firsts = [first for first in (row["first"], counted.get("first")) if first]
            row["first"] = min(firsts, key=lambda first: first["time"], default=None)
    return sorted(sums.values(), key=lambda row: (-row["struck"], -row["untold"], -row["calls"], row["fix"]))


# States of a function that has a counter but is no longer in place.
_NOT_COUNTED = ("skipped", "failed")


def _missing(record: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """Why the counts of a process lack calls of a function, in sentences."""
    sentences = []
    if row.get("compiled"):
        sentences.append("It was compiled by torch.compile, and calls of a graph are not counted.")
    elif isinstance(record.get("beyond_reach"), str):
        sentences.append(record["beyond_reach"])
    sentences += [
        outcome["reason"]
        for outcome in record.get("outcomes") or ()
        if (outcome["fix"], outcome["target"]) == (row["fix"], row["place"]) and outcome["state"] in _NOT_COUNTED
    ]
    # The first call and the first trigger are written at once: a function without a call was not called.
    if row["calls"] and not row["struck"] and not record.get("ended", True):
        sentences.append("A process that called it ended from outside, by os._exit or a crash.")
    return sentences


_OF_ONE = ("fix", "place", "calls", "asked", "struck", "untold", "when", "wrong", "why_not", "every")
_NOTHING = {"calls": 0, "asked": 0, "struck": 0, "untold": 0, "processes": 0}
