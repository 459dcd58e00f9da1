"""``hotfix audit``: known bugs that were triggered in a run, or that may have been, by the files of the run."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from .. import CommandError, launch

if TYPE_CHECKING:
    from ...engine.entry import Entry

HELP = "list the known bugs that a run triggered"

EXAMPLES = (
    "hotfix audit -- torchrun --nproc-per-node 8 train.py",
    "hotfix audit --fail -- python train.py",
    "hotfix audit checkpoint-500",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _options(parser)
    parser.add_argument("--records", metavar="DIR", help="the folder for the counts of the processes")
    parser.add_argument(
        "what", nargs=argparse.REMAINDER, metavar="PATH | -- COMMAND", help="the folder of a run, or a command"
    )


def _options(parser: argparse.ArgumentParser) -> None:
    """The options that may also follow a path."""
    parser.add_argument(
        "--fail", action="store_true", help="exit with 1 unless it is certain that no bug was triggered"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="list all bugs with all evidence, including bugs that raise an error",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; the output of the command goes to stderr")


def run(chosen: argparse.Namespace) -> int:
    """Observe a command, or read files.

    Returns:
        The status of the command; 1 with ``--fail`` if a bug was triggered.
    """
    words = list(chosen.what)
    if words[:1] == ["--"]:
        return _of_command(words[1:], chosen)
    if not words:
        raise CommandError("the command or the folder is missing; for instance: hotfix audit -- python train.py")
    rest = argparse.ArgumentParser(prog="hotfix audit", add_help=False)
    _options(rest)
    options, left = rest.parse_known_args(words[1:])
    for name, value in vars(options).items():
        setattr(chosen, name, value or getattr(chosen, name))
    if left:
        import shlex

        raise CommandError(
            f"{left[0]}: nothing may follow a path; a command follows --: hotfix audit -- {shlex.join(words)}"
        )
    from . import from_files

    return from_files.audit(Path(words[0]), chosen)


# ---------------------------------------------------------------------------------------------------------------------
# Below: a command.


class State(str, Enum):
    """The outcome for a bug in a run, in the order of the table."""

    TRIGGERED = "triggered"  #: on some call its condition was met
    UNKNOWN = "not known"  #: it was not seen to be triggered, and calls of it are not counted
    UNCLEAR = "unclear"  #: its condition was never seen to be met, and on some calls it could not be evaluated
    REACHED = "reached"  #: the function was called, and no condition is known; a silent bug may have been triggered
    NOT_TRIGGERED = "not triggered"  #: the function was called, and the condition was never met
    NEVER = "never reached"  #: the function was not called
    UNOBSERVABLE = "not observable"  #: its calls cannot be counted


@dataclass(frozen=True)
class Bug:
    """The outcome for a known bug in a run.

    Attributes:
        id, kind, title: of the fix.
        state: the outcome.
        reason: why it could not be observed, why the outcome is not known, or why a call alone shows that it was not
            triggered; otherwise empty.
        repair: the setting that repairs it.
        observed: the counts, by function; see `hotfix.reports.observed.summed`.
    """

    id: str
    kind: str
    title: str
    state: State
    reason: str
    repair: str
    observed: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Audit:
    """The outcomes for all known bugs in a run.

    Attributes:
        status: exit status of the command.
        processes: the number of processes that imported a library that hotfix watches.
        ended: the number of them that ended normally; of the others only the counts up to some moment are known.
        world_size: number of ranks; 0 outside of a job.
        missing: ranks without a record.
        unreadable: files that are not records, with the reason.
        packages: the versions of the installed packages.
        bugs: the bugs of the imported modules.
    """

    status: int
    processes: int
    ended: int
    world_size: int
    missing: tuple[int, ...]
    unreadable: tuple[str, ...]
    packages: Mapping[str, str]
    bugs: tuple[Bug, ...]

    @property
    def triggered(self) -> list[Bug]:
        """The bugs that were triggered."""
        return [bug for bug in self.bugs if bug.state is State.TRIGGERED]

    @property
    def unknown(self) -> list[Bug]:
        """The bugs whose outcome is not known; a call of a function without a known condition shows nothing.

        A bug that raises an error is known: the error would have shown it.
        """
        reached = [bug for bug in self.bugs if bug.state is State.REACHED and bug.reason != RAISES]
        return [bug for bug in self.bugs if bug.state in (State.UNKNOWN, State.UNCLEAR) or bug in reached]

    @property
    def is_clean(self) -> bool:
        """Whether every process has a record, and no bug was or may have been triggered."""
        return bool(self.processes) and not (self.triggered or self.unknown or self.missing or self.unreadable)

    def to_dict(self) -> dict[str, Any]:
        """The public form."""
        bugs = [{**asdict(bug), "state": bug.state.value} for bug in self.bugs]
        return {
            **asdict(self),
            "packages": dict(self.packages),
            "missing": list(self.missing),
            "unreadable": list(self.unreadable),
            "bugs": bugs,
        }


RAISES = "It raises an error when it is triggered."


def _raises(entry: Entry) -> bool:
    """Whether a bug raises an error, which the program has not survived unnoticed."""
    if entry.kind in ("crash", "api", "removed-api"):
        return True
    return entry.kind != "silent" and bool(entry.load().errors)


def _of_command(command: Sequence[str], chosen: argparse.Namespace) -> int:
    if not command:
        raise CommandError("the command is missing; for instance: hotfix audit -- torchrun train.py")
    with _folder(chosen.records) as folder:
        status = _observed(command, folder, chosen.json)
        audit = summarised(folder, status)
    if chosen.json:
        from ..screen import print_json

        print_json(audit.to_dict())
    else:
        _show(audit, chosen.all)
    return status or int(bool(chosen.fail and not audit.is_clean))


@contextmanager
def _folder(wanted: Optional[str]) -> Iterator[Path]:
    if wanted is None:
        with tempfile.TemporaryDirectory(prefix="hotfix-audit-") as folder:
            yield Path(folder)
        return
    path = Path(wanted).absolute()
    path.mkdir(parents=True, exist_ok=True)
    if any(path.glob("*.json")):
        raise CommandError(f"{wanted} contains records of another run; choose an empty folder")
    yield path


def _observed(command: Sequence[str], folder: Path, quiet: bool) -> int:
    """Run a command and observe all its processes. Returns the exit status that a shell would give."""
    switches = {"HOTFIX": "1", "HOTFIX_MODE": "observe", "HOTFIX_RECORD": str(folder)}
    variables = launch.environment({**os.environ, **switches}, audit=True)
    sys.stdout.flush()
    try:
        process = subprocess.Popen(list(command), env=variables, stdout=sys.stderr if quiet else None)
    except OSError as error:
        raise launch.NotRun(command[0], error) from error
    # A scheduler that ends the job signals this process; the signal is meant for the command.
    before = {number: signal.signal(number, lambda number, _: process.send_signal(number)) for number in _FORWARDED}
    try:
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:  # the command got it from the terminal as well, and may need a while
                continue
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


_FORWARDED = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)]


def summarised(folder: Path, status: int = 0) -> Audit:
    """The outcomes in the records of a folder.

    Args:
        folder: the directory in ``HOTFIX_RECORD``.
        status: exit status of the command that wrote them.
    """
    from ...engine.catalogue import Catalogue
    from ...reports import fleet
    from ...reports.observed import summed, switch

    records, _ = fleet.read(folder)
    whole = fleet.summarise(folder)
    entries = Catalogue(lambda problem: None).entries
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in summed(records):
        rows.setdefault(row["fix"], []).append(row)
    broken: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for outcome in record.get("outcomes") or ():
            if outcome["verdict"] == "broken" or outcome["state"] == "observed":
                broken.setdefault(outcome["fix"], []).append(outcome)
    packages: dict[str, str] = {}
    for record in records:
        packages.update(record.get("packages") or {})
    bugs = []
    for id in dict.fromkeys([*rows, *broken]):
        entry = entries.get(id)
        state, reason = _state(rows.get(id, []), broken.get(id, []))
        kind, title = (entry.kind, entry.title) if entry else ("", "")
        if state is State.REACHED and entry and _raises(entry):
            reason = RAISES
        bugs.append(Bug(id, kind, title, state, reason, switch(id, entry), tuple(rows.get(id, ()))))
    order = list(State)
    bugs.sort(key=lambda bug: (order.index(bug.state), bug.kind != "silent", bug.id))
    counts = whole.processes, whole.ended, whole.world_size, whole.missing, whole.unreadable
    return Audit(status, *counts, packages, tuple(bugs))


def _state(rows: Sequence[Mapping[str, Any]], outcomes: Sequence[Mapping[str, Any]]) -> tuple[State, str]:
    if any(row["struck"] for row in rows):
        return State.TRIGGERED, ""
    missing = list(dict.fromkeys(sentence for row in rows for sentence in row["missing"]))
    failed = [outcome["reason"] for outcome in outcomes if outcome["state"] == "failed"]
    if missing or failed:
        return State.UNKNOWN, " ".join(missing or failed[:1])
    if any(row["untold"] for row in rows):
        return State.UNCLEAR, ""
    reached = [row for row in rows if row["calls"]]
    if any(row["when"] is None for row in reached):
        return State.REACHED, next(row["why_not"] for row in reached if row["when"] is None)
    if reached:
        return State.NOT_TRIGGERED, ""
    unobservable = [outcome["reason"] for outcome in outcomes if outcome["state"] != "observed"]
    if not rows and unobservable and len(unobservable) == len(outcomes):
        return State.UNOBSERVABLE, unobservable[0]
    return State.NEVER, ""


def _show(audit: Audit, every: bool) -> None:
    from ..screen import Screen

    screen = Screen()
    shown = [
        bug
        for bug in audit.bugs
        if every or bug.kind == "silent" or bug.state is State.TRIGGERED or bug in audit.unknown
    ]
    print(file=sys.stderr)
    screen.line(_headline(audit, shown), style="bold")
    by_reason: dict[str, list[str]] = {}
    for bug in shown:
        if bug.state is State.UNKNOWN:
            by_reason.setdefault(bug.reason, []).append(bug.id)
    for reason, ids in by_reason.items():
        screen.line(f"Not known of {', '.join(ids)}: {reason}")
    if audit.missing or audit.unreadable or audit.ended < audit.processes:
        screen.line(_incomplete(audit))
    if not audit.processes:
        return
    table = [bug for bug in shown if bug.state not in _BELOW]
    if table:
        screen.line()
        screen.table(COLUMNS, [_cells(bug) for bug in table])
    screen.line()
    for state, sentence in _BELOW.items():
        ids = [bug.id for bug in shown if bug.state is state]
        if ids:
            screen.line(f"{sentence}: {', '.join(ids)}.")
    if audit.triggered:
        screen.line()
    for bug in audit.triggered:
        wrong = dict.fromkeys(row["wrong"] for row in bug.observed if row["struck"])
        screen.line(f"{bug.id}: {'; '.join(wrong)}. {bug.repair}")
    others = len(audit.bugs) - len(shown)
    if others == 1:
        screen.line("1 more bug raises an error when it is triggered, so it needs no audit; --all lists it.")
    elif others:
        screen.line(
            f"{others} more bugs raise an error when they are triggered, so they need no audit; --all lists them."
        )


_BELOW = {
    State.NEVER: "Never reached",
    State.UNOBSERVABLE: "Not observable (`hotfix check-model` examines the files that a run reads)",
}
COLUMNS = ("what", "bug", "calls", "first")


def _headline(audit: Audit, shown: Sequence[Bug]) -> str:
    if not audit.processes:
        return "No process that this audit has reached imported a package that hotfix watches, such as transformers."
    versions = f"transformers {audit.packages['transformers']}" if "transformers" in audit.packages else "transformers"
    where = f"{versions}, {audit.processes} process{'es' * (audit.processes != 1)}"
    if audit.world_size:
        where += f", {audit.world_size} rank{'s' * (audit.world_size != 1)}"
    if not shown:
        return f"The modules that this run imported have no known silent bug ({where})."
    bugs = f"{len(shown)} known bug{'s' * (len(shown) != 1)} in the modules that this run imported"
    unknown = f"; for {len(audit.unknown)} the answer is not known" if audit.unknown else ""
    number = len(audit.triggered)
    seen = "were" if number > 1 else "was"
    return f"{number or 'None'} of {bugs} {seen}{' seen to be' if unknown else ''} triggered{unknown} ({where})."


def _cells(bug: Bug) -> tuple[str, ...]:
    from ...reports.observed import counts_of, place_of

    counted = [row for row in bug.observed if row["struck"]] or [row for row in bug.observed if row["calls"]]
    calls = "; ".join(map(counts_of, counted)) or ("" if bug.state is State.UNKNOWN else bug.reason)
    first = "; ".join(dict.fromkeys(place_of(row) for row in counted if row["first"]))
    return bug.state.value, bug.id, calls, first


def _incomplete(audit: Audit) -> str:
    from ...reports.tables import number_ranges

    sentences = []
    if audit.missing:
        sentences.append(f"There is no record of rank {number_ranges(audit.missing)} out of {audit.world_size}.")
    killed = audit.processes - audit.ended
    if killed:
        were = "process was" if killed == 1 else "processes were"
        sentences.append(
            f"{killed} {were} ended from outside, or by os._exit: the last calls are missing from the counts."
        )
    if audit.unreadable:
        sentences.append(f"Records that cannot be read: {', '.join(audit.unreadable[:3])}.")
    return " ".join(sentences)
