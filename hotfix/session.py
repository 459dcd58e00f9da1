"""The pipeline that runs when a module is imported; only this file knows all of it.

A session is the state of hotfix in a process: the switches, the active fixes, their outcomes and all changes made.
`current` returns the session behind the public functions and the import watcher; tests create their own.

    watch -> Session.root_imported    select the allowed fixes, list the modules that they target
          -> Session.matters          does the installed release have one of these modules right?
          -> Session.module_imported  load the fixes of the module; judge, change, record (engine.repairs)
          -> Session.publish          write the record of this process, check the pin
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Optional

from ._support import collecting, memo
from ._support.locks import Lock
from ._support.words import covers, shown
from .engine.catalogue import Catalogue
from .engine.entry import Entry
from .engine.policy import Policy, narrowed
from .engine.selection import Request, Selection, allowed
from .errors import HotfixError, PolicyError
from .patching import presence, restoring, tabled
from .patching.hints import Hints, is_hinting
from .versions import installed

if TYPE_CHECKING:
    from .engine.ledger import Ledger, Outcome
    from .engine.log import Log
    from .engine.repairs import Repairs
    from .observing.observer import Observer
    from .patching.journal import Journal
    from .reports.record import Record
    from .reports.report import Report


# While this module is imported, transformers executes itself again, past all finders, to look up its own classes.
EXECUTES_AGAIN = "transformers.processing_utils"

HINT = "hotfix can give this name its old meaning: HOTFIX_OPTIN={}"


class _Aims(NamedTuple):
    """The aims of the selected fixes.

    Attributes:
        ids: the selected fixes.
        names: the watched modules.
        places: those in which calls are counted: they are watched even if they are known good.
    """

    ids: frozenset[str]
    names: set[str]
    places: set[str]


class Session:
    """The state of hotfix.

    Args:
        switches: the switches of the process.
        catalogue: all known fixes; those of hotfix and of plugins if None.

    Attributes:
        policy, catalogue, selection, repairs, ledger, journal, hints, log: see the modules in `hotfix.engine` and
            `hotfix.patching`.
    """

    def __init__(self, switches: Policy, catalogue: Optional[Catalogue] = None) -> None:
        self.policy = switches
        self.catalogue = catalogue or Catalogue(lambda sentence: self.log.warn_or_raise(sentence))
        self.selection = Selection()
        self.hints = Hints()
        # Requests, installed changes and records change together under this lock. Never import while holding it: the
        # imported module may be waiting for it in another thread.
        self._lock = Lock()
        self._log: Optional[Log] = None
        self._repairs: Optional[Repairs] = None
        self._speaks_at_exit = False
        self._process = 0  # the process that looks at its last error at exit
        self._from_environment: Optional[Request] = None
        self._record: Optional[Record] = None
        self._aims: Optional[_Aims] = None
        self._table: Optional[tuple[frozenset[str], Optional[tabled.Removed]]] = None
        self._roots: dict[str, int] = {}
        self._overlooked: set[tuple[str, str]] = set()  # (fix id, module) pairs still unchecked at the end
        # The finished modules: the fixes selected at that time, and the execution of the module.
        self._settled: dict[str, tuple[frozenset[str], object]] = {}
        self._handled: dict[str, object] = {}  # the execution of each module that was handled last
        self._pinned = False  # True once the pin has been checked

        if (switches.observes or switches.counts) and switches.enabled and not switches.problem:
            self.repairs.observe(self._write_record)

    @property
    def log(self) -> Log:
        """The log, created at first use, like the repairs."""
        if self._log is None:
            from .engine.log import Log

            with self._lock:
                if self._log is None:
                    self._log = Log(self.policy)
        return self._log

    @property
    def repairs(self) -> Repairs:
        """All changes and the outcome of each target, created at first use."""
        if self._repairs is None:
            from .engine.repairs import Repairs
            from .reports import summary  # the program's own calls receive names, and may import nothing

            log = self.log
            with self._lock:
                if self._repairs is None:
                    self._repairs = Repairs(self.policy, self.catalogue, self.selection, log, self._lock)
                    repairs = self._repairs
                    line = summary.LineAtExit(log, repairs.ledger, self._names_received, repairs.replaced)
                    log.on_detail = line.expect
                    restoring.on_first(line.expect)
        return self._repairs

    @property
    def journal(self) -> Journal:
        """All changes made in this process."""
        return self.repairs.journal

    @property
    def ledger(self) -> Ledger:
        """The outcome of each target."""
        return self.repairs.ledger

    @property
    def observer(self) -> Optional[Observer]:
        """The object that counts calls, if the user enabled counting; else None."""
        return self._repairs.observer if self._repairs else None

    def _steps(self) -> int:
        """The number of installed changes."""
        return len(self._repairs.journal) if self._repairs else 0

    # -- which fixes are on --------------------------------------------------------------------------------------------

    def ensure_selected(self) -> None:
        """Select the fixes that the environment allows, unless that was done before.

        Raises:
            HotfixError: a switch asks for something impossible, and a guard is on.
        """
        if self._from_environment is not None:
            return
        ids = self._allowed(self.policy)
        with self._lock:
            if self._from_environment is None:
                self._from_environment = self.selection.request(ids)

    def request(self, only: Iterable[str] = (), skip: Iterable[str] = ()) -> Request:
        """Select the fixes that the switches allow, narrowed by id patterns.

        Raises:
            PolicyError: a pattern matches no fix.
        """
        only, skip = tuple(only), tuple(skip)
        problems = Policy(only=only, skip=skip).unmatched(self.catalogue.ids, self.catalogue.groups)
        if problems:
            raise PolicyError(problems[0].replace("HOTFIX_ONLY", "only").replace("HOTFIX_SKIP", "skip"))
        ids = self._allowed(narrowed(self.policy, only, skip))
        with self._lock:
            return self.selection.request(ids)

    def release(self, request: Request) -> None:
        """Withdraw a request, and uninstall the fixes that no other request needs."""
        with self._lock:
            before = self._steps()
            gone = self.selection.release(request)
            stranded = self._uninstall(gone)
            changed = self._steps() != before
            if self.selection.is_empty:
                self.hints.clear()
            if not gone.isdisjoint(tabled.FIXES.values()):
                self._forget_table()
        if gone:
            self._after_uninstalling(changed, stranded)

    def reset(self) -> None:
        """Uninstall everything and withdraw every request."""
        with self._lock:
            self._from_environment = None
            self.selection.clear()
            self.hints.clear()
            before = self._steps()
            stranded = self._uninstall(None)
            self._forget_table()
            changed = self._steps() != before
        self._after_uninstalling(changed, stranded)

    def _allowed(self, switches: Policy) -> list[str]:
        """The ids of the fixes that the switches allow; logs problems with the switches."""
        if switches.problem:
            self.log.warn_or_raise(f"nothing is changed: {switches.problem}")
            return []
        if switches.is_guarded:
            try:
                self.catalogue.check()
            except ValueError as error:
                raise HotfixError(str(error)) from error
        unmatched = switches.unmatched(self.catalogue.ids, self.catalogue.groups)
        for sentence in [*unmatched, *switches.unknown_variables()]:
            if sentence.startswith("HOTFIX_REQUIRE="):
                raise HotfixError(sentence)
            self.log.warn_or_raise(sentence)
        return allowed(switches, self.catalogue)

    def _uninstall(self, ids: Optional[set[str]]) -> list[Outcome]:
        """Uninstall these fixes (all if None). Returns the outcomes that cannot be undone."""
        self._settled.clear()
        return self._repairs.uninstall(ids) if self._repairs else []

    def _after_uninstalling(self, changed: bool, stranded: list[Outcome]) -> None:
        if changed:
            from .patching import compiled

            compiled.forget_graphs()
        for outcome in stranded:
            self.log.warn_once(f"{outcome.fix}: {outcome.target}: {outcome.reason}")
        self.publish()

    @property
    def is_idle(self) -> bool:
        """Whether there are no requests and no changes."""
        return self.selection.is_empty and not self._steps()

    # -- events from the watcher ---------------------------------------------------------------------------------------

    def root_imported(self, root: str) -> set[str]:
        """Handle a watched package that is about to be executed, or is already loaded.

        Args:
            root: name of the package.

        Returns:
            The modules that fixes target, including those that plugins target in other packages.
        """
        self._aims = None
        names = self._aimed().names
        try:
            self._catch_up()
        finally:
            self.publish(pinned=True)
        if self._process != os.getpid() and self.selection.ids:
            import atexit

            self._process = os.getpid()
            atexit.register(self._look_at_the_last_error)
        table = self._removed(root)
        return names | table.modules if table else names

    def matters(self, module: str) -> bool:
        """Whether a module that a fix targets may need a repair.

        It needs none if the installed release is known to have all of it right. The file is read only when its module
        is imported: a program imports few of the hundreds of modules that fixes target.
        """
        table = self._removed(module)
        if table is not None and module in table.modules:
            return True
        aims = self._aimed()
        original = _served_as(module)
        if original and self.matters(original):
            return True
        if module in aims.places or (module == EXECUTES_AGAIN and (self._steps() or len(self.hints))):
            return True
        ranges: set[str] = set()
        for entry in self.catalogue.aiming_at(module):
            if entry.id in aims.ids or (aims.ids and self._is_waiting(entry)):
                ranges.update(entry.in_module(module).values())
        return bool(ranges) and not self.catalogue.is_known_good(module, *ranges)

    def module_imported(self, name: str, late: bool = False) -> None:
        """Handle a targeted module that has been executed, or is already loaded."""
        module = sys.modules.get(name)
        if module is None:
            return
        if late and not installed.is_executed(name):
            self._await(name)
            return
        table = self._removed(name)
        if table is not None:
            table.put(module)
            if name not in self._aimed().names:
                return
        try:
            if "." not in name:
                self._roots[name] = id(module)
            if not isinstance(module, ModuleType):
                self._set_aside(name)
                return
            with collecting.paused():
                self._handle(module, late)
            original = sys.modules.get(_served_as(name) or name)
            if original is not None and original is not module:
                self.repairs.restore_in_copy(original, module)
            self._handle_again(name.partition(".")[0])
            self._hint(name)
            self._catch_up()
        finally:
            self.publish(pinned=True)
            memo.let_go()

    def _handle_again(self, root: str) -> None:
        """Handle a package again after it has replaced its own module: transformers executes itself twice."""
        module = sys.modules.get(root)
        if not isinstance(module, ModuleType) or self._roots.get(root) in (None, id(module)):
            return
        if not installed.is_executed(root):
            return  # it is being executed a second time; the watcher calls this again when that is done
        self._roots[root] = id(module)
        table = self._removed(root)
        if table is not None:
            table.put(module)
        self._handle(module, late=False)
        self._hint(root)

    def _removed(self, module: str) -> Optional[tabled.Removed]:
        """The table of removed names that the selected fixes restore; None for any other package."""
        if module.partition(".")[0] != tabled.PACKAGE:
            return None
        ids, cached = self.selection.ids, self._table
        if cached is None or cached[0] is not ids:
            fixes = {kind: id for kind, id in tabled.FIXES.items() if id in ids}
            if cached is not None and cached[1] is not None and cached[1].fixes == fixes:
                self._table = ids, cached[1]
                return cached[1]
            self._forget_table()
            release = installed.version(tabled.PACKAGE)
            table = None
            if fixes and release is not None and not self.policy.observes:
                table = tabled.Removed(release.release, fixes)
            cached = self._table = ids, table
        return cached[1]

    def _forget_table(self) -> None:
        table, self._table = self._table, None
        if table is not None and table[1] is not None:
            table[1].clear()

    @property
    def names(self) -> set[str]:
        """The watched modules."""
        return self._aimed().names

    def catch_up(self) -> None:
        """Repair modules that a finder ahead of the watcher has loaded, and report these repairs as late."""
        if self._catch_up():
            self.publish(pinned=True)

    def _catch_up(self) -> bool:
        aims = self._aimed()
        caught = []
        for name in aims.names & sys.modules.keys():
            if self._is_settled(name, aims.ids):
                continue
            if self.matters(name) and any(self._is_left(entry, name) for entry in self._selected_for(name)):
                caught.append(name)
            else:
                self._settled[name] = aims.ids, _execution_of(name)
        for name in caught:
            if not installed.is_executed(name):
                self._await(name)
                continue
            module = sys.modules[name]
            if isinstance(module, ModuleType):
                self._handle(module, late=True)
            else:
                self._set_aside(name)
        return bool(caught)

    def look_at_the_end(self) -> None:
        """Record the loaded modules that hotfix never saw. Repair nothing: the process has run without them."""
        for name in self._aimed_at_loaded():
            entries = [entry for entry in self._selected_for(name) if self._is_left(entry, name)]
            if entries and installed.is_executed(name):
                module = sys.modules[name]
                if isinstance(module, ModuleType):
                    self.repairs.overlooked(entries, module)
                else:
                    self.repairs.set_aside(entries, name, type(module).__name__, at_the_end=True)
                self._overlooked.update((entry.id, name) for entry in entries)

    def overlooked(self) -> list[str]:
        """The repairs that a guard requires and that were missing while the process ran, as sentences."""
        if not self.policy.is_guarded:
            return []
        self.look_at_the_end()
        sentences = [*self._unchecked_artifacts(), *self._missing()]
        if self.policy.pin and not self._pinned and not sentences:  # no import ever reached hotfix
            digest = self.report().digest
            if digest != self.policy.pin:
                sentences.append(self._other_digest(digest))
        if sentences:
            self.publish()
        return sentences

    def check(self) -> None:
        """With a guard on, reject replaced repairs and artifacts that may have been compiled without the repairs.

        Raises:
            HotfixError: one of these exists.
        """
        problems = [*self._unchecked_artifacts(), *self._missing()]
        if problems:
            raise HotfixError(problems[0])

    def _missing(self) -> list[str]:
        """The repairs that a guard requires and that are missing: overlooked until the end, or replaced since."""
        policy = self.policy
        if self._repairs is None or not policy.is_guarded:
            return []
        lost = {(outcome.fix, outcome.target): outcome for outcome in self._repairs.lost()}
        for key, outcome in self.outcomes().items():
            module = outcome.target.partition(":")[0]
            if outcome.state.value == "failed" and (outcome.fix, module) in self._overlooked:
                lost[key] = outcome
        everything = policy.pin or (policy.strict and not policy.observes)
        return [
            f"{outcome.fix}: {outcome.target}: {outcome.reason}"
            for outcome in lost.values()
            if everything or policy.requires(outcome.fix)
        ]

    def _other_digest(self, digest: str) -> str:
        return (
            f"HOTFIX_PIN={shown(self.policy.pin)}, but the patch set of this process is {digest}. "
            "`hotfix lock --check` says what has changed since hotfix.lock was written."
        )

    def _unchecked_artifacts(self) -> list[str]:
        if self.policy.observes or not self.policy.is_guarded or "torch" not in sys.modules:
            return []
        from .patching import compiled

        roots = {module.partition(".")[0] for module in self.names}
        names = compiled.unchecked(lambda module: module.partition(".")[0] in roots, lambda: self.report().digest)
        return [
            f"{name} is loaded, and whether it has the repairs cannot be checked; compile it here" for name in names
        ]

    def _aimed_at_loaded(self) -> list[str]:
        """The loaded modules that fixes target, by name or by pattern, and that are not settled."""
        aims = self._aimed()
        patterns = self.catalogue.patterns if aims.ids else ()
        return [
            name
            for name in list(sys.modules)
            if isinstance(name, str)
            and not self._is_settled(name, aims.ids)
            and (name in aims.names or any(covers(pattern, name) for pattern in patterns))
            and self.matters(name)
        ]

    def _is_left(self, entry: Entry, module: str) -> bool:
        """Whether a fix still has work to do in a module."""
        return not self._is_known_good(entry, module) and not self._is_done(entry, module)

    def _is_done(self, entry: Entry, module: str) -> bool:
        """Whether the outcome of a fix in a module is known, and applies to the module that is loaded now."""
        if not self.repairs.is_handled(entry, module):
            return False
        # An earlier finder or the program may have executed the module again: then it has new functions. A module
        # without a spec was not executed from a file.
        execution = _execution_of(module)
        is_another = execution is not None and self._handled.get(module, execution) is not execution
        return not (is_another and any(outcome.target.startswith(f"{module}:") for outcome in self.repairs.lost()))

    def _is_settled(self, module: str, ids: frozenset[str]) -> bool:
        selected, execution = self._settled.get(module, (None, None))
        return selected is ids and execution is _execution_of(module)

    def _await(self, name: str) -> None:
        """Watch a lazy module from another finder, so that it is repaired before its first user gets it."""
        if installed.is_lazy(sys.modules.get(name)):
            for finder in sys.meta_path:
                if getattr(finder, "is_hotfix", False):
                    finder.watch(_execution_of(name))  # type: ignore[attr-defined]

    def _set_aside(self, name: str) -> None:
        """Record that another kind of object replaces a module."""
        entries = [entry for entry in self._selected_for(name) if self._is_left(entry, name)]
        self._settled[name] = self.selection.ids, _execution_of(name)
        if entries:
            self.repairs.set_aside(entries, name, type(sys.modules.get(name)).__name__)

    def _handle(self, module: ModuleType, late: bool) -> None:
        name, ids = module.__name__, self.selection.ids
        entries = [entry for entry in self._selected_for(name) if not self._is_known_good(entry, name)]
        if late:
            entries = [entry for entry in entries if not self._is_done(entry, name)]
        execution = _execution_of(name)
        if entries:
            self.repairs.handle(entries, module, late)
        self._settled[name], self._handled[name] = (ids, execution), execution
        if self.observer:
            self.observer.module_loaded(module)
            self._say_at_exit()

    def _selected_for(self, module: str) -> list[Entry]:
        """The selected fixes that target a module."""
        return [entry for entry in self.catalogue.aiming_at(module) if entry.id in self.selection]

    def _is_known_good(self, entry: Entry, module: str) -> bool:
        """Whether the installed release is known to have all targets of a fix in this module right."""
        ranges = set(entry.in_module(module).values())
        return bool(ranges) and self.catalogue.is_known_good(module, *ranges)

    def _aimed(self) -> _Aims:
        """The aims of the selected fixes: all modules that any fix targets, on or off, if at least one fix is on."""
        ids, aims = self.selection.ids, self._aims
        if aims is None or aims.ids is not ids:
            places = self._places()
            names = {*(self.catalogue.modules if ids else ()), *places}
            if names:
                names.add(EXECUTES_AGAIN)
            aims = self._aims = _Aims(ids, names, places)  # another thread may reset `_aims` at any time
        return aims

    def _places(self) -> set[str]:
        """The modules in which calls are counted for fixes that this release may need elsewhere."""
        if self.observer is None:
            return set()
        entries = map(self.catalogue.entry, self.selection.ids)
        return self.observer.modules([entry.id for entry in entries if self._may_need(entry)])

    def _may_need(self, entry: Entry) -> bool:
        """Whether the installed release may need a fix, as far as its modules are known."""
        modules = {key.partition(":")[0] for key in entry.targets}
        return any("*" not in module and not self._is_known_good(entry, module) for module in modules)

    def _is_waiting(self, entry: Entry) -> bool:
        """Whether a fix would restore names for more programs if the user opted in."""
        if entry.kind != "removed-api" or self.policy.asks_for(entry.id, entry.group):
            return False
        is_name = entry.optin or (entry.group and entry.id in self.selection)
        return bool(is_name) and self.policy.disabled(entry.id, entry.kind, False, entry.group) is None

    def _hint(self, name: str) -> None:
        """Make the error for a missing name of a module mention the fix that restores it."""
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType) or is_hinting(module) or self.selection.is_empty:
            return
        aiming = self.catalogue.aiming_at(name)
        waiting = [entry for entry in aiming if self._is_waiting(entry)]
        if not waiting:
            return
        lines, there, later = {}, vars(module), presence.lazy_names(module)
        for entry in waiting:
            for qualname, releases in entry.in_module(name).items():
                if qualname in there or qualname in later or not qualname.isidentifier():
                    continue
                if not self.catalogue.is_known_good(name, releases):
                    lines[qualname] = HINT.format(entry.group or entry.id)
        with self._lock:
            if not self.selection.is_empty:
                self.hints.put(module, lines)

    # -- reports -------------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """The outcomes so far; for modules that are not imported yet, they are predicted from the source."""
        from .reports import report  # here, because a process without a report does not need it

        off = "hotfix is not switched on in this process."
        counted = self.observer.results() if self.observer else ()
        left_alone = self._repairs.left_alone(self.selection.ids) if self._repairs else {}
        restored = self._repairs.restored(self.selection.ids) if self._repairs else {}
        happened = counted, left_alone, restored
        return report.make(self.catalogue, self.policy, self.outcomes(), self.selection.ids, off, *happened)

    def outcomes(self) -> dict[tuple[str, str], Outcome]:
        """The current outcome of each target, by fix and target."""
        return self._repairs.outcomes() if self._repairs else {}

    def publish(self, pinned: bool = False) -> None:
        """After a change, write the record of this process and check its pin, if the user has set them.

        Args:
            pinned: whether to reject a patch set that differs from ``HOTFIX_PIN``.
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
                    self._record = Record(self.policy, self.log, self._publish_at_exit, self._current_outcomes, counted)
                self._record.update(report, self.outcomes().values())
        except Exception as error:
            # A failed record must not stop the program; a pin that cannot be checked must.
            if pin and pinned:
                raise HotfixError(
                    f"HOTFIX_PIN={shown(pin)}: the digest cannot be computed: {error}; reinstall hotfix, or unset "
                    "HOTFIX_PIN"
                ) from error
            self.log.fail_once(f"no record of this process ({type(error).__name__}: {error})")
            return
        if pin and pinned and report.digest != pin:
            raise HotfixError(self._other_digest(report.digest))
        self._pinned = self._pinned or pinned

    def _current_outcomes(self) -> Iterable[Outcome]:
        return self.outcomes().values()

    def _publish_at_exit(self) -> None:
        self.look_at_the_end()
        self.publish()

    def _write_record(self) -> None:
        """Update the record: a bug was triggered for the first time, or again after a while."""
        if self._record is not None:
            self._record.write()

    def _say_at_exit(self) -> None:
        """Log the triggered bugs at the end of this process: once, and not from its children."""
        if self._speaks_at_exit or self.observer is None:
            return
        self._speaks_at_exit = True
        if self.policy.observes:  # a user who has forgotten the setting must see it
            sentence = "nothing is repaired here, and calls of functions with known bugs are counted"
            self.log.notice(f"HOTFIX_MODE=observe: {sentence}")
        from .reports.observed import say_at_exit

        say_at_exit(self.log, self.policy.mode, self.observer.results, lambda: self.catalogue.entries)

    def _look_at_the_last_error(self) -> None:
        """If an error ends this process, log the opt-in repair that prevents it, below the traceback."""
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        is_interactive = hasattr(sys, "ps1")  # there the error did not end the process
        if error is None or is_interactive or self._process != os.getpid() or self.policy.observes:
            return
        from .reports import ended

        sentence = ended.sentence(error, filter(self._is_off_by_default, self.catalogue.entries.values()))
        if sentence:
            self.log.notice(sentence)

    def _is_off_by_default(self, entry: Entry) -> bool:
        """Whether an opt-in fix is off only because nobody asked for it, and this release may need it."""
        if not entry.optin or entry.id in self.selection:
            return False
        if self.policy.disabled(entry.id, entry.kind, False, entry.group) is not None:
            return False
        return self._may_need(entry)

    def _names_received(self) -> Mapping[str, restoring.Received]:
        """The names that this process has received because it would have failed without them."""
        return self.repairs.restored(self.selection.ids)


def _execution_of(module: str) -> object:
    """The spec of a module: a new object for each execution. Does not trigger the import of a lazy module."""
    loaded = sys.modules.get(module)
    if not issubclass(type(loaded), ModuleType):
        return loaded
    return ModuleType.__getattribute__(loaded, "__dict__").get("__spec__")


def _served_as(module: str) -> str:
    """The module that transformers 5 copies to this old path; empty if there is none."""
    if not module.startswith("transformers."):
        return ""
    for finder in sys.meta_path:
        if type(finder).__name__ == "_LegacyModuleAliasFinder":
            return str(finder.resolve(module) or "")  # type: ignore[attr-defined]
    return ""


# ---------------------------------------------------------------------------------------------------------------------
# Below: the session of this process.

# Executing this file again does not lose the session: `importlib.reload` keeps the names of a module.
_current: Optional[Session] = globals().get("_current")
_lock: Lock = globals().get("_lock") or Lock()


def current(environment: Optional[Mapping[str, str]] = None) -> Session:
    """The session of this process; created if there is none.

    Args:
        environment: the variables for a new session, which also replaces an idle session with other variables; those
            of the process if None.

    Raises:
        PolicyError: a switch cannot be read, and a guard is on: strict mode, a required fix or a pin.
    """
    global _current
    with _lock:
        stale = _current is not None and environment is not None and _current.is_idle
        if _current is None or (stale and _current.policy.environment != environment):
            _current = Session(Policy.lenient(os.environ if environment is None else environment))
        for finder in sys.meta_path:
            if getattr(finder, "is_hotfix", False) and overlooked not in finder.asks_at_exit:  # type: ignore[attr-defined]
                finder.asks_at_exit.append(overlooked)  # type: ignore[attr-defined]
        return _current


def end() -> None:
    """Uninstall everything; the next call of `current` begins a new session."""
    global _current
    ending = _current
    if ending is None:
        return
    ending.reset()
    with _lock:
        # Steps that could not be undone stay in its journal.
        if _current is ending and not ending._steps():
            _current = None


def _armed(environment: Mapping[str, str], automatic: bool) -> Session:
    """The session of this process.

    Args:
        environment: the switches at arming.
        automatic: whether to apply all fixes that the environment allows; else only those of `hotfix.apply`.
    """
    session = current(environment)
    if automatic:
        session.ensure_selected()
    return session


def root_imported(name: str, environment: Mapping[str, str], automatic: bool) -> set[str]:
    """Called by the watcher: see `Session.root_imported`."""
    return _armed(environment, automatic).root_imported(name)


def matters(name: str, environment: Mapping[str, str], automatic: bool) -> bool:
    """Called by the watcher: see `Session.matters`."""
    return current(environment).matters(name)


def overtaken(name: str, environment: Mapping[str, str], automatic: bool) -> set[str]:
    """Called by the watcher with a guard on: a finder ahead of it may have loaded modules.

    Returns:
        The modules that fixes target.
    """
    session = _armed(environment, automatic)
    session.catch_up()
    return session.names


def overlooked(environment: Mapping[str, str], automatic: bool) -> list[str]:
    """Called by the watcher at the end of the process: see `Session.overlooked`."""
    return _armed(environment, automatic).overlooked()


def module_imported(name: str, environment: Mapping[str, str], automatic: bool, late: bool = False) -> None:
    """Called by the watcher: see `Session.module_imported`."""
    _armed(environment, automatic).module_imported(name, late)
