"""The outcomes of all fixes at one moment: those that happened (the ledger) and those that the source foretells."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Optional

from packaging.version import Version

from ..engine.catalogue import Catalogue
from ..engine.entry import Entry
from ..engine.ledger import Outcome, State
from ..engine.log import Log
from ..engine.policy import OFF_BY_DEFAULT, Policy, Unknown
from ..fix import Fix, Target
from ..version import __version__
from ..versions import installed, verdict
from ..versions.verdict import Verdict
from . import tables
from .digest import cure_digest, patch_set_digest

_PACKAGES = ("transformers", "torch", "flash-attn", "xformers", "accelerate", "trl", "peft", "deepspeed")


@dataclass(frozen=True)
class Unexamined:
    """What nobody has examined of one package, in one row.

    Attributes:
        package: its name.
        release: what is installed.
        newest: the newest release that was examined; empty where none was.
        functions: how many functions have a source that was never examined.
        look_broken: how many of them look broken to the fix that aims at them.
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
    """What is repaired, what will be, and what is left alone.

    Attributes:
        outcomes: one for each target of each fix, in the order of the catalogue.
        packages: versions of what is installed and matters, by distribution.
        digest: short name of the patch set; see `hotfix.digest`.
        patches: what the digest is made of, one line for each target that is repaired or will be: the fix, the target,
            the digest of its source, the digest of the cure.
        entries: what is known of each fix, by id.
        unexamined: the functions that nobody has examined, one row for each package.
    """

    outcomes: tuple[Outcome, ...]
    packages: Mapping[str, str]
    digest: str
    patches: tuple[str, ...] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    unexamined: tuple[Unexamined, ...] = ()

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def to_dict(self) -> dict[str, object]:
        """The public form: what ``hotfix status --json`` prints."""
        return {
            "hotfix": __version__,
            "digest": self.digest,
            "python": platform.python_version(),
            "packages": dict(self.packages),
            "unexamined": [asdict(one) for one in self.unexamined],
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }

    def to_json(self) -> str:
        """The public form as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items()) or "nothing to repair"
        lines = [f"hotfix {__version__} ({self.digest}) on {packages}", ""]
        rows = [tables.target_cells(one) for one in self.worth_a_line()]
        if rows:
            lines.append(tables.plain_table([tables.TARGET_COLUMNS, *rows]))
        return "\n".join([*lines, *map(str, self.unexamined), self.the_rest()])

    def __rich__(self) -> object:
        """What ``rich`` prints: one row for each fix."""
        return tables.rich_report(self.headline(), self.rows(), list(map(str, self.unexamined)))

    def _repr_html_(self) -> str:
        """What a notebook shows: one row for each fix, its targets folded below."""
        return tables.html_report(self.headline(), self.rows(), self.outcomes, list(map(str, self.unexamined)))

    def rows(self, fix: str = "") -> list[tables.Row]:
        """One row for each fix, or for this one alone: first what went wrong, last what has nothing to do."""
        return tables.by_fix((one for one in self if fix in ("", one.fix)), self.entries)

    def group_of(self, row: tables.Row) -> str:
        """The group by which a fix is asked for that is off unless it is asked for; else nothing."""
        entry = self.entries.get(row.fix)
        off = row.state is State.DISABLED and row.reason.startswith(OFF_BY_DEFAULT)
        return entry.group if entry and off else ""

    def headline(self) -> str:
        """What the report is about, in one line."""
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        missing = "" if "transformers" in self.packages else "; transformers is not installed"
        return f"hotfix {__version__} (patch set {self.digest}) on {packages or 'nothing to repair'}{missing}"

    def worth_a_line(self) -> list[Outcome]:
        """The outcomes that say more than that nothing is to be done."""
        return [one for one in self if not _is_quiet(one)]

    def the_rest(self) -> str:
        """One sentence for all other outcomes; those that were not examined have a row of their own."""
        counts = Counter(one.verdict.value for one in self if _is_quiet(one) and not _is_harmless(one))
        if not counts:
            return ""
        kinds = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        return f"Nothing is to be done for {sum(counts.values())} other targets: {kinds}."


def _is_quiet(outcome: Outcome) -> bool:
    nothing = (Verdict.FIXED, Verdict.ABSENT, Verdict.UNAFFECTED)
    return outcome.state is State.SKIPPED and (outcome.verdict in nothing or _is_harmless(outcome))


def _is_harmless(outcome: Outcome) -> bool:
    return outcome.verdict is Verdict.UNKNOWN and outcome.harmless


def _unexamined(outcomes: Iterable[Outcome], catalogue: Catalogue) -> Iterator[Unexamined]:
    """One row for each package that has functions of which only the matcher of a fix can say something."""
    found: dict[str, dict[str, bool]] = {}
    for one in outcomes:
        if one.state is not State.DISABLED and (_is_harmless(one) or one.looks_broken):
            functions = found.setdefault(one.target.partition(".")[0], {})
            functions[one.target] = functions.get(one.target, False) or one.looks_broken
    for package, functions in found.items():
        newest = catalogue.examined(package)[-1:]
        release = str(installed.version(package) or "")
        yield Unexamined(package, release, "".join(newest), len(functions), sum(functions.values()))


def of_environment(switches: Policy) -> Report:
    """What would happen in a process that arms hotfix with these switches. Nothing is imported."""
    warn = Log(switches).warn_or_raise
    catalogue = Catalogue(warn)
    for sentence in [*switches.unmatched(catalogue.entries, catalogue.groups), *switches.unknown_variables()]:
        warn(sentence)
    on = {
        entry.id
        for entry in catalogue.entries.values()
        if not switches.disabled(entry.id, entry.kind, entry.optin, entry.group)
    }
    return make(catalogue, switches, {}, on, "")


def of_fix(entry: Entry) -> Report:
    """What would become of one fix that is asked for, whatever the switches say. Nothing is imported."""
    switches = Policy(optin=("*",))
    return make(Catalogue(Log(switches).warn_or_raise, [entry]), switches, {}, {entry.id}, "")


def make(
    catalogue: Catalogue, switches: Policy, happened: Mapping[tuple[str, str], Outcome], on: set[str], off: str
) -> Report:
    """The report of one moment.

    Args:
        catalogue: the fixes that there are.
        switches: in force.
        happened: the ledger.
        on: ids of the fixes that are selected.
        off: why a fix is not selected that the switches allow.
    """
    outcomes: list[Outcome] = []
    patches = []
    for entry in catalogue.entries.values():
        disabled = None
        if entry.id not in on:
            disabled = switches.disabled(entry.id, entry.kind, entry.optin, entry.group) or off
        try:
            fix = entry.load()
        except Exception as error:
            reason = f"The fix cannot be loaded: {type(error).__name__}: {error}"
            outcomes += [Outcome(entry.id, key, Verdict.UNKNOWN, State.FAILED, False, reason) for key in entry.targets]
            continue
        for target in fix.targets:
            seen = [outcome for (id, name), outcome in happened.items() if id == fix.id and _is(target, name)]
            now = seen or [_foretold_or_failed(fix, target, disabled, switches, catalogue)]
            outcomes += now
            if "*" in target.module:
                # Which modules the pattern stands for is known only when they come. Ready or repaired is the same.
                settled = all(one.verdict not in (Verdict.UNKNOWN, Verdict.FOREIGN) for one in now)
                if settled and not any(one.state in (State.DISABLED, State.FAILED) for one in now):
                    patches.append(f"{fix.id} {target} - {cure_digest(fix)}")
                continue
            repaired = [one for one in now if one.state in (State.APPLIED, State.PENDING)]
            patches += [f"{fix.id} {one.target} {one.source} {cure_digest(fix)}" for one in repaired]
    packages = {name: str(version) for name in _PACKAGES if (version := installed.version(name))}
    patches.sort()
    unexamined = tuple(_unexamined(outcomes, catalogue))
    return Report(tuple(outcomes), packages, patch_set_digest(patches), tuple(patches), catalogue.entries, unexamined)


def _is(target: Target, name: str) -> bool:
    module, _, qualname = name.partition(":")
    return qualname == target.qualname and target.covers(module)


def _foretold_or_failed(
    fix: Fix, target: Target, disabled: Optional[str], switches: Policy, catalogue: Catalogue
) -> Outcome:
    try:
        return _foretold(fix, target, disabled, switches, catalogue)
    except Exception as error:  # of this fix alone: a report that stops says nothing of the others
        reason = f"It cannot be judged: {type(error).__name__}: {error}"
        return Outcome(fix.id, str(target), Verdict.UNKNOWN, State.FAILED, False, reason)


def _foretold(fix: Fix, target: Target, disabled: Optional[str], switches: Policy, catalogue: Catalogue) -> Outcome:
    if "*" in target.module:
        reason = f"Judged when a module called {target.module} is imported."
        state = State.DISABLED if disabled else State.SKIPPED
        return Outcome(fix.id, str(target), Verdict.ABSENT, state, False, disabled or reason)
    good = catalogue.is_known_good(target.module, target.releases)
    judgement = (good and verdict.judge_from_sweep(fix, target)) or verdict.judge_installed(fix, target)
    state, reason = State.SKIPPED, judgement.reason
    if disabled:
        state, reason = State.DISABLED, disabled
    elif judgement.verdict is Verdict.BROKEN or (
        judgement.verdict is Verdict.UNKNOWN and switches.unknown is Unknown.APPLY and not judgement.harmless
    ):
        state, reason = State.PENDING, f"{reason} It is repaired when the module is imported."
        if installed.is_executed(target.module):
            state, reason = State.FAILED, f"{judgement.reason} It was imported past hotfix, and is not repaired."
    return Outcome(fix.id, str(target), judgement.verdict, state, False, reason, judgement.source, judgement.harmless)
