"""What happens when a module was imported: the only file that knows the whole pipeline.

A session is the state of hotfix in a process: the switches, the fixes that are on, what became of them, what was
changed. `current` is the one behind the public functions and the import watcher; tests make their own.

    watch -> Session.root_imported    select what the switches allow; at which modules fixes aim
          -> Session.matters          whether the installed release has one of these right
          -> Session.module_imported  load the fixes of the module; judge, change, write down (engine.apply)
          -> Session.publish          the record of this process, the pin
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Optional

from . import memo
from .engine.catalogue import Catalogue
from .engine.entry import Entry
from .engine.ledger import Ledger, Outcome, State
from .engine.log import Log
from .engine.policy import Policy, narrowed
from .engine.selection import Request, Selection, allowed
from .errors import HotfixError, PolicyError
from .locks import Lock
from .patching import compiled, presence
from .patching.hints import Hints, is_hinting
from .versions import installed
from .versions.judgement import Verdict
from .words import covers

if TYPE_CHECKING:
    from .engine.apply import Applier
    from .engine.observer import Observer
    from .fix import Fix, Target
    from .patching.journal import Journal
    from .reports.record import Record
    from .reports.report import Report


# To look its own classes up, transformers executes itself once more while this module is imported, past all finders.
EXECUTES_AGAIN = "transformers.processing_utils"

HINT = "hotfix can give this name its old meaning: HOTFIX_OPTIN={}"


class Session:
    """The state of hotfix.

    Args:
        switches: those of the process.
        catalogue: the fixes that there are; those of hotfix and of plugins if None.

    Attributes:
        policy, catalogue, selection, ledger, journal, hints, log: see the modules in `hotfix.engine` and
            `hotfix.patching`.
        observer: counts calls, where that is asked for; else None.
    """

    def __init__(self, switches: Policy, catalogue: Optional[Catalogue] = None) -> None:
        self.policy = switches
        self.log = Log(switches)
        self.catalogue = catalogue or Catalogue(self.log.warn_or_raise)
        self.selection = Selection()
        self.ledger = Ledger(switches, self.log)
        self.hints = Hints()
        # What is asked for, what is in place and what is written down change together under it. Nothing is imported
        # under it: what is imported may be waiting for it in another thread.
        self._lock = Lock()
        self._journal: Optional[Journal] = None
        self.observer = self._make_observer()
        self._speaks_at_exit = False
        self._from_environment: Optional[Request] = None
        self._record: Optional[Record] = None
        self._stopped: set[tuple[str, str]] = set()
        self._aims: Optional[tuple[frozenset[str], set[str], set[str]]] = None
        self._roots: dict[str, int] = {}
        self._settled: dict[str, frozenset[str]] = {}  # the modules that are done with, and what was selected then

    @property
    def journal(self) -> Journal:
        """What was changed. It is loaded when something is to be: most releases have most of it right."""
        if self._journal is None:
            from .patching.journal import Journal

            with self._lock:
                if self._journal is None:
                    self._journal = Journal()
        return self._journal

    def _steps(self) -> int:
        """How many changes there are."""
        return 0 if self._journal is None else len(self._journal)

    def _applier(self) -> Applier:
        from .engine.apply import Applier

        return Applier(self.policy, self.journal, self.observer)

    def _make_observer(self) -> Optional[Observer]:
        """What counts calls; nothing of it is loaded where nobody asks for it."""
        if not (self.policy.observes or self.policy.counts) or self.policy.problem or not self.policy.enabled:
            return None
        from .engine.observer import Observer

        observer = Observer(self.catalogue, self.journal, self.log)
        observer.on_strike = self._counted
        return observer

    # -- which fixes are on --------------------------------------------------------------------------------------------

    def ensure_selected(self) -> None:
        """Select what the environment allows, unless that was done before.

        Raises:
            HotfixError: a switch asks for what cannot be, and the user wants to be stopped.
        """
        if self._from_environment is not None:
            return
        entries = self._allowed(self.policy)
        with self._lock:
            if self._from_environment is None:
                self._from_environment = self.selection.request(entries)

    def request(self, only: Iterable[str] = (), skip: Iterable[str] = ()) -> Request:
        """Select what the switches allow, narrowed by patterns of ids.

        Raises:
            PolicyError: a pattern matches no fix.
        """
        only, skip = tuple(only), tuple(skip)
        for sentence in Policy(only=only, skip=skip).unmatched(self.catalogue.entries, ()):
            raise PolicyError(sentence.replace("HOTFIX_ONLY", "only").replace("HOTFIX_SKIP", "skip"))
        entries = self._allowed(narrowed(self.policy, only, skip))
        with self._lock:
            return self.selection.request(entries)

    def release(self, request: Request) -> None:
        """Take a request back, and out of the process what nobody else asks for."""
        with self._lock:
            before = self._steps()
            gone = self.selection.release(request)
            stranded = self._uninstall(gone)
            changed = self._steps() != before
            if self.selection.is_empty:
                self.hints.clear()
        if gone:
            self._after_uninstalling(changed, stranded)

    def reset(self) -> None:
        """Take everything out of the process, and every request back."""
        with self._lock:
            self._from_environment = None
            self.selection.clear()
            self.hints.clear()
            before = self._steps()
            stranded = self._uninstall(None)
            changed = self._steps() != before
        self._after_uninstalling(changed, stranded)

    def _allowed(self, switches: Policy) -> list[Entry]:
        """The fixes that switches allow; what is wrong with the switches is said."""
        if switches.problem:
            self.log.warn_or_raise(f"nothing is changed: {switches.problem}")
            return []
        unmatched = switches.unmatched(self.catalogue.entries, self.catalogue.groups)
        for sentence in [*unmatched, *switches.unknown_variables()]:
            if sentence.startswith("HOTFIX_REQUIRE="):
                raise HotfixError(sentence)
            self.log.warn_or_raise(sentence)
        return allowed(switches, self.catalogue)

    def _uninstall(self, ids: Optional[set[str]]) -> list[Outcome]:
        """Take fixes (all, if None) out of the process. Returns what cannot be taken out; it stays in the books."""
        self._settled.clear()
        undone = [] if self._journal is None else self._journal.uninstall(ids)
        kept = {(one.fix, one.target.qualname): one for one in undone}
        if self.observer:
            self.observer.forget(ids)
        stranded = []
        for (fix, name), outcome in self.ledger.outcomes().items():
            if ids is not None and fix not in ids:
                continue
            self.ledger.forget(fix, name)
            left = kept.get((fix, name.partition(":")[2]))
            if left is not None and outcome.state in (State.APPLIED, State.OBSERVED):
                stranded.append(outcome._replace(reason=f"It cannot be taken out: {left.reason}."))
                self.ledger.keep(stranded[-1])
        return stranded

    def _after_uninstalling(self, changed: bool, stranded: list[Outcome]) -> None:
        if changed:
            compiled.forget_graphs()
        for outcome in stranded:
            self.log.warn_once(f"{outcome.fix}: {outcome.target}: {outcome.reason}")
        self.publish()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked for and nothing was changed."""
        return self.selection.is_empty and not self._steps()

    # -- what the watcher tells ----------------------------------------------------------------------------------------

    def root_imported(self, root: str) -> set[str]:
        """A watched package is about to be executed, or was found loaded.

        Args:
            root: name of the package.

        Returns:
            The modules at which fixes aim; those of plugins in other packages, too.
        """
        self._aims = None
        _, names, _ = self._aimed()
        try:
            self._catch_up()
        finally:
            self.publish(pinned=True)
        return names

    def matters(self, module: str) -> bool:
        """Whether there may be something to do in a module at which a fix aims.

        There is nothing where the installed release is known to have all of it right. A file is looked at when its
        module is wanted, and not sooner: of the hundreds at which fixes aim a program imports a few.
        """
        ids, _, places = self._aimed()
        if module in places or (module == EXECUTES_AGAIN and (self._steps() or len(self.hints))):
            return True
        ranges: set[str] = set()
        for entry in self.catalogue.aiming_at(module):
            if entry.id in ids or (ids and self._is_waiting(entry)):
                ranges.update(self._ranges(entry, module))
        return bool(ranges) and not self.catalogue.is_known_good(module, *ranges)

    def module_imported(self, name: str, late: bool = False) -> None:
        """A module that fixes aim at was executed, or was found loaded."""
        module = sys.modules.get(name)
        if module is None or (late and not installed.is_executed(name)):
            return
        try:
            if "." not in name:
                self._roots[name] = id(module)
            self._handle(module, late)
            self._handle_again(name.partition(".")[0])
            self._hint(name)
            self._catch_up()
        finally:
            self.publish(pinned=True)
            memo.let_go()

    def _handle_again(self, root: str) -> None:
        """Handle a package anew that has put another module into its own place: transformers executes itself twice."""
        module = sys.modules.get(root)
        if module is None or self._roots.get(root) in (None, id(module)):
            return
        self._roots[root] = id(module)
        self._handle(module, late=False)
        self._hint(root)

    def catch_up(self) -> None:
        """Repair what was loaded past the watcher, by a finder that answers first: late, and said so."""
        if self._catch_up():
            self.publish(pinned=True)

    def _catch_up(self) -> bool:
        ids, names, _ = self._aimed()
        found = []
        for name in names & sys.modules.keys():
            if self._settled.get(name) is ids:
                continue
            if self.matters(name) and any(self._is_left(entry, name) for entry in self._selected_for(name)):
                found.append(name)
            else:
                self._settled[name] = ids
        for name in found:
            if installed.is_executed(name):
                self._handle(sys.modules[name], late=True)
        return bool(found)

    def _is_left(self, entry: Entry, module: str) -> bool:
        """Whether a fix still has something to do in a module."""
        return not (self._is_handled(entry, module) or self._is_known_good(entry, module))

    def _handle(self, module: ModuleType, late: bool) -> None:
        name, applied = module.__name__, list[Outcome]()
        ids = self.selection.ids
        for entry in self._selected_for(name):
            if self._is_known_good(entry, name) or (late and self._is_handled(entry, name)):
                continue
            self._stopped.add((name, entry.id))  # until it is through: what stops once has to stop again
            with self.ledger.contained(entry.id, name, late):
                fix = entry.load()
                for target in fix.targets:
                    if target.covers(name):
                        with self.ledger.contained(entry.id, str(target.in_module(name)), late):
                            self._handle_target(fix, target, module, late)
            mine = [one for one in self.ledger.of_module(entry.id, name) if one.state is State.APPLIED]
            self.ledger.say_applied(entry.id, entry.title, entry.kind, mine)
            applied += mine
            if self.policy.requires(entry.id):
                self._check_required(entry.id, name)
            self._stopped.discard((name, entry.id))
        self._settled[name] = ids
        if self.observer:
            self.observer.module_loaded(module)
            self._say_at_exit()
        if applied:
            if late and compiled.forget_graphs():
                for one in applied:
                    self.ledger.amend(one, "What torch.compile had made before was dropped.")
            warning = compiled.stale_graphs()
            if warning:
                self.log.warn_or_raise(warning)

    def _handle_target(self, fix: Fix, target: Target, module: ModuleType, late: bool) -> None:
        applier = self._applier()
        judgement = applier.judge(fix, target, module)
        with self._lock:
            if fix.id not in self.selection:
                return  # whoever asked for it has taken that back
            outcome = applier.apply(fix, target, judgement, module, late)
            self.ledger.keep(outcome)
        self.ledger.say(outcome)

    def _is_handled(self, entry: Entry, module: str) -> bool:
        """Whether it is known what became of all targets of a fix in a module."""
        if (module, entry.id) in self._stopped:
            return False
        names = (key.partition(":") for key in entry.targets)
        return all(
            self.ledger.has(entry.id, f"{module}:{qualname}")
            for pattern, _, qualname in names
            if covers(pattern, module)
        )

    def _selected_for(self, module: str) -> list[Entry]:
        """The selected fixes that aim at a module."""
        return [entry for entry in self.catalogue.aiming_at(module) if entry.id in self.selection]

    def _is_known_good(self, entry: Entry, module: str) -> bool:
        """Whether the installed release is known to have all of a module right at which a fix aims."""
        ranges = self._ranges(entry, module)
        return bool(ranges) and self.catalogue.is_known_good(module, *ranges)

    def _ranges(self, entry: Entry, module: str) -> set[str]:
        """The broken releases of what a fix aims at in a module of just this name."""
        return {releases for key, releases in entry.targets.items() if key.partition(":")[0] == module}

    def _aimed(self) -> tuple[frozenset[str], set[str], set[str]]:
        """What is selected, the modules that are watched, and those of them that are watched whatever they have right.

        The first are those at which the selected fixes aim, and those that lack a name which a fix that is off, and
        only for want of an opt-in, would give back; the second those in which calls are counted.
        """
        ids, found = self.selection.ids, self._aims
        if found is None or found[0] is not ids:
            waiting = (one for one in self.catalogue.entries.values() if one.id not in ids and self._is_waiting(one))
            aiming = [*self.selection.entries, *(waiting if ids else ())]
            names = {key.partition(":")[0] for entry in aiming for key in entry.targets}
            places = self._places()
            names = {name for name in names if "*" not in name} | places
            if names:
                names.add(EXECUTES_AGAIN)
            found = self._aims = ids, names, places  # another thread may forget it at any time
        return found

    def _places(self) -> set[str]:
        """The modules in which calls are counted of fixes that this release may need elsewhere."""
        if self.observer is None:
            return set()
        needed = []
        for entry in self.selection.entries:
            modules = {key.partition(":")[0] for key in entry.targets}
            if any("*" not in one and not self._is_known_good(entry, one) for one in modules):
                needed.append(entry.id)
        return self.observer.modules(needed)

    def _is_waiting(self, entry: Entry) -> bool:
        """Whether a fix gives a name back as soon as the user asks for it."""
        is_name = entry.optin and entry.kind == "removed-api"
        return is_name and self.policy.disabled(entry.id, entry.kind, False, "") is None

    def _hint(self, name: str) -> None:
        """Have a module say of the names that it lacks which fix gives them back."""
        module = sys.modules.get(name)
        if module is None or is_hinting(module) or self.selection.is_empty:
            return
        aiming = self.catalogue.aiming_at(name)
        waiting = [one for one in aiming if one.id not in self.selection and self._is_waiting(one)]
        if not waiting:
            return
        lines = {}
        for entry in waiting:
            for key, releases in entry.targets.items():
                there, _, qualname = key.partition(":")
                if there != name or not qualname.isidentifier() or presence.has(module, qualname):
                    continue
                if not self.catalogue.is_known_good(name, releases):
                    lines[qualname] = HINT.format(entry.group or entry.id)
        with self._lock:
            if not self.selection.is_empty:
                self.hints.put(module, lines)

    def _check_required(self, id: str, module: str) -> None:
        in_place = [Verdict.FIXED, Verdict.ABSENT]
        if not self.policy.insists_on(id):
            in_place.append(Verdict.UNAFFECTED)
        for outcome in self.ledger.of_module(id, module):
            if outcome.state is not State.APPLIED and (
                outcome.state is State.FAILED or outcome.verdict not in in_place
            ):
                raise HotfixError(f"HOTFIX_REQUIRE={id}: not in place in {module}: {outcome.reason}")

    # -- what is told --------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """What happened; what is selected and not imported yet is foretold from its source."""
        from .reports import report  # here, because a process that is never asked does without

        off = "hotfix is not switched on in this process."
        counted = self.observer.results() if self.observer else ()
        return report.make(self.catalogue, self.policy, self.outcomes(), self.selection.ids, off, counted)

    def outcomes(self) -> dict[tuple[str, str], Outcome]:
        """The ledger, as it is true now: what was repaired may have been replaced since."""
        found = self.ledger.outcomes()
        for key, outcome in found.items():
            if self.observer and outcome.state is State.OBSERVED:
                reason = self.observer.lost(*key)
                if reason:
                    found[key] = outcome._replace(state=State.SKIPPED, reason=reason)
                continue
            if outcome.state is not State.APPLIED or outcome.fix not in self.selection:
                continue
            module, _, qualname = outcome.target.partition(":")
            targets = self.catalogue.entries[outcome.fix].load().targets
            target = next(one for one in targets if one.qualname == qualname and one.covers(module))
            reason = self.journal.replaced_since(target, module)
            if reason:
                found[key] = outcome._replace(verdict=Verdict.FOREIGN, state=State.FAILED, reason=reason)
            elif self.journal.is_scripted(target):
                reason = (
                    f"{outcome.reason} But torch.jit.script was asked for it, and compiles the text of the file: what "
                    "it has made is not repaired."
                )
                found[key] = outcome._replace(state=State.FAILED, reason=reason)
        return found

    def publish(self, pinned: bool = False) -> None:
        """Something has changed: write the record of this process, hold it to its pin, where the user asked for them.

        Args:
            pinned: whether another patch set than that of ``HOTFIX_PIN`` is refused.
        """
        record, pin = self.policy.record, self.policy.pin
        if not (record or pin):
            return
        try:
            report = self.report()
            if record:
                if self._record is None:
                    from .reports.record import Record

                    counted = self.observer.results if self.observer else None
                    self._record = Record(self.policy, self.log, self.publish, counted)
                self._record.update(report, self.outcomes().values())
        except Exception as error:
            # Keeping the books may not stop the work; not being able to keep a promise must.
            if pin and pinned:
                raise HotfixError(f"HOTFIX_PIN={pin}: the digest cannot be computed: {error}") from error
            self.log.fail_once(f"no record of this process ({type(error).__name__}: {error})")
            return
        if pin and pinned and report.digest != pin:
            raise HotfixError(
                f"HOTFIX_PIN={pin}, but the patch set of this process is {report.digest}. `hotfix lock --check` "
                "says what has changed since hotfix.lock was written."
            )

    def _counted(self) -> None:
        """A bug has struck: for the first time, or again after a while."""
        if self._record is not None:
            self._record.write()

    def _say_at_exit(self) -> None:
        """Have it said at the end of this process what struck: once, and not by its children."""
        if self._speaks_at_exit or self.observer is None:
            return
        self._speaks_at_exit = True
        if self.policy.observes:  # whoever has forgotten that it is set has to see it
            sentence = "nothing is repaired here, and calls of functions with known bugs are counted"
            self.log.log(logging.INFO, f"HOTFIX_MODE=observe: {sentence}")
        from .reports.observed import say_at_exit

        say_at_exit(self.log, self.policy.mode, self.observer.results, lambda: self.catalogue.entries)

    def is_in_place(self, fix: Fix, target: Target) -> bool:
        """Whether this target of this fix is repaired in this process."""
        return self.journal.is_in_place(target)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the session of this process.

_current: Optional[Session] = None
_lock = Lock()


def current(environment: Optional[Mapping[str, str]] = None) -> Session:
    """The session of this process; it is begun where there is none.

    Args:
        environment: the variables with which it begins, and with which one begins anew that has nothing to do; those of
            the process if None.

    Raises:
        PolicyError: a switch cannot be read, and the user wants to be stopped: strict mode, a required fix, a pin.
    """
    global _current
    with _lock:
        stale = _current is not None and environment is not None and _current.is_idle
        if _current is None or (stale and _current.policy.environment != environment):
            _current = Session(Policy.lenient(os.environ if environment is None else environment))
        return _current


def end() -> None:
    """Take everything out of this process; the next call of `current` begins a new session."""
    global _current
    ending = _current
    if ending is None:
        return
    ending.reset()
    with _lock:
        # What could not be taken out stays in its journal.
        if _current is ending and not ending._steps():
            _current = None


def root_imported(name: str, environment: Mapping[str, str], automatic: bool) -> set[str]:
    """What the watcher says: see `Session.root_imported`.

    Args:
        name: of the package.
        environment: the switches at arming.
        automatic: whether hotfix was armed for what the environment allows, not for `hotfix.apply` alone.
    """
    session = current(environment)
    if automatic:
        session.ensure_selected()
    return session.root_imported(name)


def matters(name: str, environment: Mapping[str, str], automatic: bool) -> bool:
    """What the watcher asks: see `Session.matters`."""
    return current(environment).matters(name)


def module_imported(name: str, environment: Mapping[str, str], automatic: bool, late: bool = False) -> None:
    """What the watcher says: see `Session.module_imported`."""
    session = current(environment)
    if automatic:
        session.ensure_selected()
    session.module_imported(name, late)
