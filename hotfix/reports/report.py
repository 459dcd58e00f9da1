"""The outcomes of all fixes at one moment: those recorded in the ledger, and those predicted from the source."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from shutil import get_terminal_size
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Callable, Optional, Union, overload

from packaging.version import Version

from .. import __version__
from .._support.memo import memo
from .._support.words import KINDS, described
from ..engine.catalogue import Catalogue
from ..engine.entry import Entry
from ..engine.ledger import Outcome, State
from ..engine.log import Log
from ..engine.policy import OFF_BY_DEFAULT, Policy
from ..fix import Fix, Target
from ..versions import installed, verdict
from ..versions.judgement import Judgement, Verdict
from . import tables
from .digest import cure_digest, patch_set_digest

if TYPE_CHECKING:
    from ..observing.counter import Counted
    from ..patching.restoring import Received

_PAGE = 100  # columns, if there is no terminal
PACKAGES = ("transformers", "torch", "flash-attn", "xformers", "accelerate", "trl", "peft", "deepspeed")
"""The distributions whose versions appear in a report and in a lock file."""


@dataclass(frozen=True)
class Unexamined:
    """The unexamined functions of one package, in one row.

    Attributes:
        package: the name of the package.
        release: the installed release.
        newest: the newest examined release; empty if there is none.
        functions: the number of functions whose source was never examined.
        look_broken: how many of these look broken to the fix that targets them.
    """

    package: str
    release: str
    newest: str
    functions: int
    look_broken: int

    def __str__(self) -> str:
        looks = f"{self.look_broken} look broken" if self.look_broken else "none looks broken"
        here = f"{self.package} {self.release}"
        if self.newest and self.release and Version(self.release) > Version(self.newest):
            here += f" is newer than the evidence ({self.newest})"
        were = "function was" if self.functions == 1 else "functions were"
        return f"{here}: {self.functions} {were} not examined, {looks}."


@dataclass(frozen=True)
class Report:
    """The repairs made in a process, the repairs to come, and the calls left alone.

    Attributes:
        outcomes: one for each target of each fix, in catalogue order. Outcomes of fixes with nothing to do are computed
            at first access, so a report of a hundred fixes costs no more than the fixes at work here.
        packages: versions of the installed packages that matter, by distribution.
        digest: short name of the patch set; see `hotfix.digest`.
        patches: the lines that the digest is computed from, one for each target that is repaired or will be: the fix,
            the target, the digest of its source, the digest of the cure.
        entries: the catalogue entry of each fix, by id.
        unexamined: the unexamined functions, one row for each package.
        observed: the counts of this process, under ``HOTFIX_MODE=observe`` and ``HOTFIX_COUNT=1``.
        mode: how known bugs are handled: ``repair`` or ``observe``.
        left_alone: why a repair left calls in this process to the release's own code, by id of the fix.
        restored: the names that this process has received because it would have failed without them, by
            ``module:qualname``.
    """

    outcomes: Sequence[Outcome]
    packages: Mapping[str, str]
    digest: str
    patches: tuple[str, ...] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    unexamined: tuple[Unexamined, ...] = ()
    observed: tuple[Counted, ...] = ()
    mode: str = "repair"
    left_alone: Mapping[str, str] = field(default_factory=dict)
    restored: Mapping[str, Received] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def to_dict(self) -> dict[str, object]:
        """The public form, as printed by ``hotfix status --json``."""
        more: dict[str, Any] = {"mode": self.mode, "observed": [count.to_dict() for count in self.observed]}
        return {
            "hotfix": __version__,
            "digest": self.digest,
            "python": platform.python_version(),
            "packages": dict(self.packages),
            "unexamined": [asdict(group) for group in self.unexamined],
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
            **(more if self.observed or self.mode != "repair" else {}),
            **({"left_alone": dict(self.left_alone)} if self.left_alone else {}),
            **(
                {"restored": {name: receipt._asdict() for name, receipt in self.restored.items()}}
                if self.restored
                else {}
            ),
        }

    def to_json(self) -> str:
        """The public form as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        width = get_terminal_size((_PAGE, 0)).columns
        rows = [row.cells() for row in self.at_work()]
        table = [tables.fitted_table(tables.COLUMNS, rows, width)] if rows else []
        return "\n".join([self.headline(), "", *table, *self.summary()])

    def __rich__(self) -> object:
        """The output for ``rich``: one row for each fix."""
        return tables.rich_report(self.headline(), self.at_work(), self.summary())

    def _repr_html_(self) -> str:
        """The output for a notebook: one row for each fix at work here; the others, and all targets, are folded."""
        return tables.html_report(self.headline(), self.at_work(), self.outcomes, self.summary())

    def rows(self, fix: str = "") -> list[tables.Row]:
        """One row for each fix, or for this fix alone; failures come first, fixes with nothing to do last."""
        return [row for row in self._rows if fix in ("", row.fix)]

    def group_of(self, row: tables.Row) -> str:
        """The opt-in group of a fix that is off by default; else an empty string."""
        entry = self.entries.get(row.fix)
        off = row.state is State.DISABLED and row.reason.startswith(OFF_BY_DEFAULT)
        return entry.group if entry and off else ""

    def at_work(self) -> list[tables.Row]:
        """The rows of fixes that have something to do; only the most urgent ones if they do not fit on a screen."""
        return self._all_at_work[:_ON_ONE_SCREEN]

    @cached_property
    def _rows(self) -> list[tables.Row]:
        """One row for each fix."""
        return tables.by_fix(self, self.entries)

    @cached_property
    def _all_at_work(self) -> list[tables.Row]:
        """All rows of fixes that have something to do, without opt-in groups that are off."""
        rows = [row for row in self._rows if not (row.idle or row.restores or self.group_of(row))]
        if len(rows) > _ON_ONE_SCREEN:
            rows.sort(key=_urgency)
        return rows

    def summary(self) -> list[str]:
        """The sentences below the rows, which cover everything that has no row."""
        if "transformers" not in self.packages and not self._all_at_work:
            return [
                "Nothing to do without transformers: run this in the environment that has it, or examine its pins "
                "with `hotfix scan`.",
                *(f"{group} `hotfix status --unknown` lists them." for group in self.unexamined),
            ]
        rows = self.rows()
        more = Counter(row.kind for row in self._all_at_work[_ON_ONE_SCREEN:])
        sentences = []
        if more:
            kinds = ", ".join(f"{count} {kind}" for kind, count in more.items())
            sentences.append(f"{sum(more.values())} more do not fit here ({kinds}).")
        offered = Counter(self.group_of(row) for row in rows if not row.idle)
        sentences += [
            f"HOTFIX_OPTIN={group} would repair {count} more, which are off by default."
            for group, count in offered.items()
            if group
        ]
        waiting = sum(row.restores and not row.idle for row in rows)
        if waiting:
            which = f"{waiting} fixes restore" if waiting > 1 else "One fix restores"
            sentences.append(f"{which} removed names and signatures, where a program would end.")
        idle = Counter(row.word for row in rows if row.idle)
        if idle:
            kinds = ", ".join(f"{count} {word}" for word, count in idle.items())
            fixes = tables.counted(sum(idle.values()), "fix")
            sentences.append(f"There is nothing to do for {fixes} ({kinds}).")
        if sentences:
            sentences.append("`hotfix status --all` lists all of these.")
        sentences += [f"{fix}: left alone, {reason}" for fix, reason in self.left_alone.items()]
        sentences += [
            f"{receipt.fix}: {name} was restored for {receipt.place}" for name, receipt in self.restored.items()
        ]
        if self.observed:
            from . import observed

            sentences += observed.sentences(self.observed, self.mode, self.entries)
        return [*sentences, *(f"{group} `hotfix status --unknown` lists them." for group in self.unexamined)]

    def headline(self) -> str:
        """One line with the versions and the patch set."""
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        here = f" on {packages}" if packages else ""
        missing = "" if "transformers" in self.packages else "; transformers is not installed"
        return f"hotfix {__version__} (patch set {self.digest}){here}{missing}"


_ON_ONE_SCREEN = 10  # rows; each may take three lines


def _urgency(row: tables.Row) -> tuple[Any, ...]:
    """The sort key if not all rows fit: failures, skipped fixes, fixes of plugins, broken functions."""
    is_skipped = row.state is State.DISABLED and "HOTFIX_SKIP" in row.reason
    return (
        row.state is not State.FAILED,
        not is_skipped,
        ":" not in row.fix,
        row.verdict is not Verdict.BROKEN,
        _rank(row),
    )


def _rank(row: tables.Row) -> int:
    return KINDS.index(row.kind) if row.kind in KINDS else len(KINDS)


def _is_harmless(outcome: Outcome) -> bool:
    return outcome.verdict is Verdict.UNKNOWN and outcome.harmless


def _unexamined(outcomes: Iterable[Outcome], catalogue: Catalogue) -> Iterator[Unexamined]:
    """One row for each package with functions that only the matcher of a fix can judge."""
    modules: dict[str, dict[str, bool]] = {}
    for outcome in outcomes:
        if outcome.state is not State.DISABLED and (_is_harmless(outcome) or outcome.looks_broken):
            functions = modules.setdefault(outcome.target.partition(".")[0], {})
            functions[outcome.target] = functions.get(outcome.target, False) or outcome.looks_broken
    for package, functions in modules.items():
        newest = catalogue.examined(package)[-1:]
        release = str(installed.version(package) or "")
        yield Unexamined(package, release, "".join(newest), len(functions), sum(functions.values()))


def of_environment(switches: Policy) -> Report:
    """The expected report of a process that arms hotfix with these switches. Imports nothing."""
    warn = Log(switches).warn_or_raise
    catalogue = Catalogue(warn)
    for sentence in [*switches.unmatched(catalogue.ids, catalogue.groups), *switches.unknown_variables()]:
        warn(sentence)
    on = {
        entry.id
        for entry in catalogue.entries.values()
        if not switches.disabled(entry.id, entry.kind, entry.optin, entry.group)
    }
    return make(catalogue, switches, {}, on, "")


def of_fix(entry: Entry) -> Report:
    """The expected report of one fix, as if it were opted in, whatever the switches say. Imports nothing."""
    switches = Policy(optin=("*",))
    return make(Catalogue(Log(switches).warn_or_raise, [entry]), switches, {}, {entry.id}, "")


def make(
    catalogue: Catalogue,
    switches: Policy,
    happened: Mapping[tuple[str, str], Outcome],
    on: Collection[str],
    off: str,
    counted: tuple[Counted, ...] = (),
    left_alone: Mapping[str, str] = MappingProxyType({}),
    restored: Mapping[str, Received] = MappingProxyType({}),
) -> Report:
    """Make the report for this moment.

    Args:
        catalogue: all known fixes.
        switches: the switches in force.
        happened: the outcomes in the ledger.
        on: ids of the selected fixes.
        off: the reason why a fix that the switches allow is not selected.
        counted: the counts of calls.
        left_alone: why repairs left calls alone, by id of the fix.
        restored: the names that the process received, by ``module:qualname``.
    """
    moment = _Moment(catalogue, switches, happened, on, off)
    known: dict[str, list[Outcome]] = {}
    patches: list[str] = []
    for entry in moment.at_work():
        try:
            pairs = moment.pairs(entry)
        except Exception:  # `_Moment.outcomes` reports it
            known[entry.id] = moment.outcomes(entry)
            continue
        known[entry.id] = [outcome for _, outcomes in pairs for outcome in outcomes]
        patches += _patches(entry, pairs, switches.observes)
    patches.sort()

    def every() -> Iterator[Outcome]:
        for entry in catalogue.entries.values():
            yield from known.get(entry.id) or moment.outcomes(entry)

    return Report(
        _Later(every),
        {name: str(version) for name in PACKAGES if (version := installed.version(name))},
        patch_set_digest(patches),
        tuple(patches),
        catalogue.entries,
        tuple(_unexamined((outcome for outcomes in known.values() for outcome in outcomes), catalogue)),
        counted,
        switches.mode,
        dict(left_alone),
        dict(restored),
    )


class _Moment:
    """What is known at the moment of a report; the arguments are those of `make`."""

    def __init__(
        self,
        catalogue: Catalogue,
        switches: Policy,
        happened: Mapping[tuple[str, str], Outcome],
        on: Collection[str],
        off: str,
    ) -> None:
        self.catalogue, self.switches, self.happened, self.on, self.off = catalogue, switches, happened, on, off
        self._touched = {id for id, _ in happened}

    def at_work(self) -> Iterator[Entry]:
        """The selected fixes that have something to do."""
        return (each for each in self.catalogue.entries.values() if each.id in self.on and not self._is_idle(each))

    def pairs(self, entry: Entry) -> list[tuple[Target, list[Outcome]]]:
        """The targets of a fix, each with its recorded outcomes, or with the predicted one."""
        disabled = None
        if entry.id not in self.on:
            disabled = self.switches.disabled(entry.id, entry.kind, entry.optin, entry.group) or self.off
        fix = entry.load()
        pairs = []
        for target in fix.targets:
            seen = [outcome for (id, name), outcome in self.happened.items() if id == fix.id and _is(target, name)]
            expected = seen or [_foretold_or_failed(fix, target, disabled, self.switches, self.catalogue)]
            pairs.append((target, expected))
        return pairs

    def outcomes(self, entry: Entry) -> list[Outcome]:
        """All outcomes of a fix, also if it has nothing to do or cannot be loaded."""
        try:
            if self._is_idle(entry):
                idle = _idle(entry, self.switches, self.off if entry.id not in self.on else "")
                if idle is not None:
                    return idle
            return [outcome for _, outcomes in self.pairs(entry) for outcome in outcomes]
        except Exception as error:
            reason = f"The fix cannot be loaded: {described(error)}"
            return [Outcome(entry.id, key, Verdict.UNKNOWN, State.FAILED, False, reason) for key in entry.targets]

    def _is_idle(self, entry: Entry) -> bool:
        return entry.id not in self._touched and _has_nothing_to_do(entry, self.catalogue)


def _patches(entry: Entry, pairs: list[tuple[Target, list[Outcome]]], observes: bool) -> Iterator[str]:
    """The lines of a fix in the patch set: what it changes, and with which cure."""
    fix = entry.load()
    for target, outcomes in pairs:
        if "*" in target.module:
            # Which modules a pattern matches is known only at import. Ready and repaired count the same.
            unsettled = any(
                outcome.verdict in (Verdict.UNKNOWN, Verdict.FOREIGN) or outcome.state in (State.DISABLED, State.FAILED)
                for outcome in outcomes
            )
            if not (unsettled or observes):
                yield f"{fix.id} {target} - {cure_digest(fix, entry.module)}"
            continue
        repaired = [outcome for outcome in outcomes if outcome.state in (State.APPLIED, State.PENDING)]
        cure = cure_digest(fix, entry.module) if repaired else ""
        yield from (f"{fix.id} {outcome.target} {outcome.source} {cure}" for outcome in repaired)


@memo
def _judgements() -> dict[tuple[object, ...], Judgement]:
    return {}


def _judged(fix: Fix, target: Target) -> Judgement:
    """The verdict on the installed source, cached until it changes: a job with a record needs it at every import."""
    names = dict.fromkeys(module for module, _ in target.fingerprint_names())
    key = (fix.id, str(target), *(hash(verdict.read_installed(name)) for name in names))
    kept = _judgements()
    if key not in kept:
        kept[key] = verdict.judge_installed(fix, target)
    return kept[key]


class _Later(Sequence[Outcome]):
    """A tuple that is built at first access."""

    def __init__(self, make: Callable[[], Iterable[Outcome]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> tuple[Outcome, ...]:
        return tuple(self._make())

    @overload
    def __getitem__(self, index: int) -> Outcome: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Outcome, Sequence[Outcome]]:
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)


def _has_nothing_to_do(entry: Entry, catalogue: Catalogue) -> bool:
    """Whether the installed release is known to have all its targets right, so that no file needs to be read."""
    return all(catalogue.is_known_good(key.partition(":")[0], releases) for key, releases in entry.targets.items())


def _idle(entry: Entry, switches: Policy, off: str) -> Optional[list[Outcome]]:
    """The outcomes of a fix with nothing to do, without importing it; None if its evidence does not tell.

    Args:
        entry: the fix.
        switches: the switches in force.
        off: the reason why it is not selected although the switches allow it.
    """
    if entry.fix is not None or switches.disabled(entry.id, entry.kind, entry.optin, entry.group) or off:
        return None
    outcomes = []
    for name in entry.targets:
        judgement = None if "*" in name else verdict.judge_name_from_sweep(entry.id, name)
        if judgement is None:
            return None
        result = judgement.verdict, State.SKIPPED, False, judgement.reason, judgement.source, judgement.harmless
        outcomes.append(Outcome(entry.id, name, *result))
    return outcomes


def _is(target: Target, name: str) -> bool:
    module, _, qualname = name.partition(":")
    return qualname == target.qualname and target.covers(module)


def _foretold_or_failed(
    fix: Fix, target: Target, disabled: Optional[str], switches: Policy, catalogue: Catalogue
) -> Outcome:
    try:
        return _foretold(fix, target, disabled, switches, catalogue)
    except Exception as error:  # only this fix fails: the report still covers all others
        reason = f"It cannot be judged: {described(error)}"
        return Outcome(fix.id, str(target), Verdict.UNKNOWN, State.FAILED, False, reason)


def _foretold(fix: Fix, target: Target, disabled: Optional[str], switches: Policy, catalogue: Catalogue) -> Outcome:
    if "*" in target.module:
        reason = f"Judged when a module called {target.module} is imported."
        state = State.DISABLED if disabled else State.SKIPPED
        return Outcome(fix.id, str(target), Verdict.ABSENT, state, False, disabled or reason)
    good = catalogue.is_known_good(target.module, target.releases)
    judgement = (good and verdict.judge_from_sweep(fix, target)) or None
    if judgement is None and catalogue.is_as_examined(target.module):
        judgement = verdict.judge_broken_from_sweep(fix, target)
    judgement = judgement or _judged(fix, target)
    state, reason = State.SKIPPED, judgement.reason
    if not disabled and target.optin and judgement.verdict is Verdict.BROKEN:
        disabled = None if switches.asks_for(fix.id, fix.group) else switches.off_by_default(fix.id, target.optin)
    if disabled:
        state, reason = State.DISABLED, disabled
    elif switches.observes:
        if judgement.verdict is Verdict.BROKEN:
            state, reason = State.OBSERVED, f"{reason} It is not repaired; it is observed when the module is imported."
    elif judgement.verdict is Verdict.BROKEN or (
        judgement.verdict is Verdict.UNKNOWN and switches.unknown == "apply" and not judgement.harmless
    ):
        state, reason = State.PENDING, f"{reason} It is repaired when the module is imported."
        if installed.is_executed(target.module):
            state, reason = State.FAILED, f"{judgement.reason} It was imported past hotfix, and is not repaired."
    result = judgement.verdict, state, False, reason, judgement.source, judgement.harmless
    return Outcome(fix.id, str(target), *result, restores=switches.restores_on_demand(fix, target))
