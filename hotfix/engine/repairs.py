"""All changes of a session in loaded modules, and the outcome of each target.

A session creates this when there is something to judge. A process whose imports all come from a release without bugs
never loads the code that judges, changes and records.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Callable, Optional

from .._support.locks import Lock
from .._support.words import covers
from ..errors import HotfixError
from ..fix import Fix, Target
from ..patching import compiled, restoring, scope
from ..patching.journal import Journal
from ..versions.judgement import Verdict
from .apply import Applier
from .catalogue import Catalogue
from .entry import Entry
from .ledger import Ledger, Outcome, State
from .log import Log
from .policy import Policy
from .selection import Selection

if TYPE_CHECKING:
    from ..observing.observer import Observer


class Repairs:
    """The repairs of one session.

    Args:
        switches: the switches.
        catalogue: all fixes.
        selection: the fixes that are on.
        log: the log.
        lock: the lock of the session. Selection, journal and ledger change together under it. Nothing is imported under
            it, because another thread may wait for it during an import.

    Attributes:
        journal: the changes.
        ledger: the outcome of each target.
        observer: counts calls after a call of `observe`; else None.
    """

    def __init__(self, switches: Policy, catalogue: Catalogue, selection: Selection, log: Log, lock: Lock) -> None:
        self._policy = switches
        self._catalogue = catalogue
        self._selection = selection
        self._log = log
        self._lock = lock
        self._stopped: set[tuple[str, str]] = set()
        self.journal = Journal()
        self.ledger = Ledger(switches, log)
        self.observer: Optional[Observer] = None

    def observe(self, on_strike: Callable[[], None]) -> None:
        """Count calls from now on.

        Args:
            on_strike: called when a bug is triggered, or would have been.
        """
        from ..observing.observer import Observer  # loaded only on request

        self.observer = Observer(lambda fix: self._catalogue.entry(fix).module, self.journal, self._log.warn_once)
        self.observer.on_strike = on_strike

    def handle(self, entries: Iterable[Entry], module: types.ModuleType, late: bool) -> None:
        """Judge the targets of fixes in a loaded module, and do what the verdicts call for.

        Raises:
            HotfixError: a guard of the user stops the program.
        """
        name, applied = module.__name__, list[Outcome]()
        for entry in entries:
            self._stopped.add((name, entry.id))  # until it succeeds: an import that was stopped must stop again
            with self.ledger.contained(entry.id, name, late):
                fix = entry.load()
                for target in fix.targets:
                    if target.covers(name):
                        with self.ledger.contained(entry.id, str(target.in_module(name)), late):
                            self._handle_target(fix, target, module, late)
            mine = [outcome for outcome in self.ledger.of_module(entry.id, name) if outcome.state is State.APPLIED]
            self.ledger.say_applied(entry.id, entry.kind, mine)
            applied += mine
            if self._policy.requires(entry.id):
                self._check_required(entry.id, name)
            self._stopped.discard((name, entry.id))
        if applied:
            if late and compiled.forget_graphs():
                for place in applied:
                    self.ledger.amend(place, "Graphs that torch.compile made before were dropped.")
            warning = compiled.stale_graphs()
            if warning and self._policy.is_guarded:
                raise HotfixError(warning)
            if warning:
                self._log.warn_or_raise(warning)

    def set_aside(self, entries: Iterable[Entry], module: str, kind: str, at_the_end: bool = False) -> None:
        """Record that ``sys.modules`` has another object instead of a module: a mock, for instance.

        Args:
            entries: fixes with targets in the module.
            module: its name.
            kind: the type of the object.
            at_the_end: whether the process ends, so that nothing is logged or raised.

        Raises:
            HotfixError: one of the fixes is required.
        """
        reason = f"In sys.modules, a {kind} is in its place, which is not a module."
        for entry in entries:
            state = State.FAILED if at_the_end and self._policy.requires(entry.id) else State.SKIPPED
            for key in entry.targets:
                pattern, _, qualname = key.partition(":")
                if covers(pattern, module):
                    outcome = Outcome(entry.id, f"{module}:{qualname}", Verdict.UNKNOWN, state, True, reason)
                    self.ledger.keep(outcome._replace(harmless=True))
            if self._policy.requires(entry.id) and not at_the_end:
                self._check_required(entry.id, module)

    def overlooked(self, entries: Iterable[Entry], module: types.ModuleType) -> None:
        """Record missing repairs in a module that hotfix has not seen during the process. Nothing is changed."""
        applier = Applier(self._policy, self.journal)
        for entry in entries:
            required = self._policy.requires(entry.id)
            accepted = [Verdict.FIXED, Verdict.ABSENT, Verdict.UNAFFECTED][
                : 2 if self._policy.insists_on(entry.id) else 3
            ]
            with self.ledger.contained(entry.id, module.__name__, late=True):
                fix = entry.load()
                for target in fix.targets:
                    name = str(target.in_module(module.__name__))
                    if not target.covers(module.__name__) or self.ledger.has(entry.id, name):
                        continue
                    judgement = applier.look(fix, target, module)
                    state, reason = State.SKIPPED, judgement.reason
                    if judgement.verdict not in accepted and (required or not judgement.harmless):
                        state = State.FAILED
                        reason = f"Another finder loaded it, and the process ended before hotfix looked. {reason}"
                    facts = judgement.source, judgement.harmless
                    self.ledger.keep(Outcome(entry.id, name, judgement.verdict, state, True, reason, *facts))

    def is_handled(self, entry: Entry, module: str) -> bool:
        """Whether all targets of a fix in a module have an outcome."""
        if (module, entry.id) in self._stopped:
            return False
        names = (key.partition(":") for key in entry.targets)
        return all(
            self.ledger.has(entry.id, f"{module}:{qualname}")
            for pattern, _, qualname in names
            if covers(pattern, module)
        )

    def outcomes(self) -> dict[tuple[str, str], Outcome]:
        """The outcomes as they are now: other code may have replaced a repair since."""
        outcomes = self.ledger.outcomes()
        for key, outcome in outcomes.items():
            if self.observer and outcome.state is State.OBSERVED:
                reason = self.observer.lost(*key)
                if reason:
                    outcomes[key] = outcome._replace(state=State.SKIPPED, reason=reason)
                continue
            if outcome.state is not State.APPLIED or outcome.fix not in self._selection:
                continue
            target = self._target_of(outcome)
            reason = self.journal.replaced_since(target, outcome.target.partition(":")[0])
            if reason:
                outcomes[key] = outcome._replace(verdict=Verdict.FOREIGN, state=State.FAILED, reason=reason)
            elif self.journal.is_scripted(target):
                reason = (
                    f"{outcome.reason} But torch.jit.script has compiled it from its file, so the scripted function is "
                    "not repaired."
                )
                outcomes[key] = outcome._replace(state=State.FAILED, reason=reason)
        return outcomes

    def lost(self) -> list[Outcome]:
        """The repairs in loaded modules that other code has replaced.

        Added names do not count: the name exists even if it is another object now.
        """
        applied = [outcome for outcome in self.ledger.outcomes().values() if outcome.state is State.APPLIED]
        now = self.outcomes() if applied else {}
        failed = [outcome for outcome in applied if now[outcome.fix, outcome.target].state is State.FAILED]
        lost = []
        for outcome in failed:
            target, module = self._target_of(outcome), outcome.target.partition(":")[0]
            if not (target.way.adds_name or self.journal.has_left(target, module)):
                lost.append(now[outcome.fix, outcome.target])
        return lost

    def replaced(self) -> set[str]:
        """The fixes of which nothing is in place any more because other code has replaced it; not the removed ones.

        A module that was dropped does not count: its functions ran with the repair as long as they ran.
        """
        kept = set()
        for outcome in self.outcomes().values() if self.ledger.repaired else ():
            if outcome.verdict is not Verdict.FOREIGN:
                is_kept = outcome.state in (State.APPLIED, State.FAILED)
            else:
                is_kept = self.journal.has_left(self._target_of(outcome), outcome.target.partition(":")[0])
            if is_kept:
                kept.add(outcome.fix)
        return self.ledger.repaired.keys() - kept - self.ledger.reverted

    def left_alone(self, ids: Collection[str]) -> dict[str, str]:
        """Why repairs left calls to the release's own code, by id of the fix."""
        return {fix: reason for fix, reason in scope.left_alone().items() if fix in ids}

    def restore_in_copy(self, original: types.ModuleType, copy: types.ModuleType) -> None:
        """Give a copy of a module the restored names of the original."""
        with self._lock:
            self.journal.restore_in_copy(original, copy)

    def restored(self, ids: Collection[str]) -> dict[str, restoring.Received]:
        """The names that the process has received because it would have failed without them, by ``module:qualname``."""
        return {name: receipt for name, receipt in restoring.received().items() if receipt.fix in ids}

    def uninstall(self, ids: Optional[set[str]]) -> list[Outcome]:
        """Remove fixes, or all if None. Returns the outcomes of those that cannot be undone; they stay recorded."""
        undone = self.journal.uninstall(ids)
        kept = {(step.fix, step.target.qualname): step for step in undone}
        if self.observer:
            self.observer.forget(ids)
        stranded = []
        for (fix, name), outcome in self.ledger.outcomes().items():
            if ids is not None and fix not in ids:
                continue
            self.ledger.forget(fix, name)
            left = kept.get((fix, name.partition(":")[2]))
            if left is not None and outcome.state in (State.APPLIED, State.OBSERVED):
                stranded.append(outcome._replace(reason=f"It cannot be removed: {left.reason}."))
                self.ledger.keep(stranded[-1])
        self.ledger.note_reverted(ids)
        return stranded

    # ------------------------------------------------------------------------------------------------------------------

    def _handle_target(self, fix: Fix, target: Target, module: types.ModuleType, late: bool) -> None:
        applier = Applier(self._policy, self.journal, self.observer)
        judgement = applier.judge(fix, target, module)
        with self._lock:
            if fix.id not in self._selection:
                return  # its request was released meanwhile
            outcome = applier.apply(fix, target, judgement, module, late)
            self.ledger.keep(outcome)
        self.ledger.say(outcome)

    def _target_of(self, outcome: Outcome) -> Target:
        module, _, qualname = outcome.target.partition(":")
        targets = self._catalogue.entry(outcome.fix).load().targets
        return next(target for target in targets if target.qualname == qualname and target.covers(module))

    def _check_required(self, id: str, module: str) -> None:
        in_place = [Verdict.FIXED, Verdict.ABSENT]
        if not self._policy.insists_on(id):
            in_place.append(Verdict.UNAFFECTED)
        for outcome in self.ledger.of_module(id, module):
            if outcome.state is not State.APPLIED and (
                outcome.state is State.FAILED or outcome.verdict not in in_place
            ):
                raise HotfixError(f"HOTFIX_REQUIRE={id}: not in place in {module}: {outcome.reason}")
