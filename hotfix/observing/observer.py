"""Selects the functions to observe in this process, under ``HOTFIX_MODE=observe`` and ``HOTFIX_COUNT=1``.

A session has an observer only if one of the two is set. It loads the triggers of fixes, makes their functions report
the arguments of each call, and keeps the counts. It observes the place where the bug shows: the broken target, or
another place that the trigger names, as soon as that is loaded.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Callable, Optional

from .. import trigger
from .._support.locks import Lock
from .._support.words import described
from ..errors import Refusal
from ..fix import Fix, Target
from ..patching import live
from ..patching.journal import Journal
from ..trigger import Trigger
from ..versions import installed
from . import counter, edit
from .counter import Counted, Counter

_LAST = 1_000_000  # the order of steps: counting is installed after, and on top of, repairs


class Observer:
    """The counters of one session.

    Args:
        module_of: the module that defines a fix, by its id.
        journal: changes the functions, and can undo it.
        warn_once: logs a sentence once, as `hotfix.engine.log.Log.warn_once`: for triggers that cannot be used.
    """

    def __init__(self, module_of: Callable[[str], str], journal: Journal, warn_once: Callable[..., None]) -> None:
        self._module_of = module_of
        self._journal = journal
        self._warn_once = warn_once
        self._triggers: dict[str, Optional[Trigger]] = {}
        self._counters: dict[tuple[str, str], tuple[Counter, Target]] = {}
        self._waiting: dict[tuple[str, str], Fix] = {}
        self._unobservable: dict[tuple[str, str], str] = {}
        self._lock = Lock()
        self.on_strike: Callable[[], None] = _nothing

    def trigger_of(self, fix: str) -> Optional[Trigger]:
        """The trigger of a fix, or None; its module is imported at first use. An unusable trigger is logged.

        Args:
            fix: id of the fix.
        """
        if fix not in self._triggers:
            try:
                loaded = trigger.load(fix, self._module_of(fix))
            except (Exception, SystemExit) as error:  # only this trigger fails
                self._warn_once(f"{fix}: its trigger cannot be used: {described(error)}")
                loaded = None
            self._triggers[fix] = loaded
        return self._triggers[fix]

    def modules(self, fixes: Iterable[str]) -> set[str]:
        """The modules of all places that the triggers of these fixes name."""
        modules: set[str] = set()
        for fix in fixes:
            of_fix = self.trigger_of(fix)
            modules.update(place.partition(":")[0] for place in (of_fix.places if of_fix else ()))
        return modules

    def observe(self, fix: Fix, target: Target, module: types.ModuleType) -> str:
        """Count the calls of a broken function, or of the functions where its bug shows.

        Returns:
            A sentence that describes the result.

        Raises:
            Refusal: the calls cannot be counted, with the reason.
        """
        of_fix = self.trigger_of(fix.id)
        name = f"{module.__name__}:{target.qualname}"
        elsewhere = [place for place in (of_fix.places if of_fix else ()) if place not in _names(fix)]
        for place in elsewhere:
            self._look_at(fix, place)
        here = of_fix is None or not of_fix.conditions or of_fix.condition(name) is not None
        if not here:
            others = ", ".join(elsewhere or (of_fix.places if of_fix else ()))
            return f"Not repaired; its effects are counted in {others}."
        if target.way.adds_name:
            raise Refusal("a name that is missing has no calls")
        if target.converts and (of_fix is None or not of_fix.conditions):
            raise Refusal("it reads files, and no trigger describes the files that it misreads")
        self._count(fix, name, module)
        return "Not repaired; its calls are counted."

    def count(self, fix: Fix, target: Target, module: types.ModuleType) -> None:
        """Count the calls of a repaired function that would have triggered its bug, if the trigger can decide it.

        It sees a call as the caller made it, before the repaired code runs. Wrapped functions are not counted: below
        the wrapper, the arguments are those that the wrapper passes on.
        """
        of_fix = self.trigger_of(fix.id)
        if of_fix is not None and of_fix.conditions and of_fix.while_repaired and target.way.sees_calls:
            with suppress(Refusal):  # the function stays repaired
                self.observe(fix, target, module)

    def module_loaded(self, module: types.ModuleType) -> None:
        """Observe the places in a module that were waiting for it."""
        for (id, place), fix in list(self._waiting.items()):
            if place.partition(":")[0] == module.__name__:
                self._waiting.pop((id, place), None)
                self._try(fix, place, module)

    def lost(self, fix: str, target: str) -> Optional[str]:
        """Why the calls of an observed function are not counted (any more), as a sentence, or None."""
        known = self._counters.get((fix, target))
        if known is not None:
            reason = self._journal.replaced_since(known[1], target.partition(":")[0])
            return reason and f"{reason.replace('repaired', 'observed')} Its calls are not counted any more."
        for (id, place), why in self._unobservable.items():
            if id == fix:
                return f"Not repaired, and not observable: {place}: {why}."
        return None

    def forget(self, fixes: Optional[set[str]]) -> None:
        """Forget these fixes, or all fixes, after they were removed."""
        with self._lock:
            for table in (self._counters, self._waiting, self._unobservable):
                for key in [key for key in table if fixes is None or key[0] in fixes]:
                    del table[key]

    def results(self, wait: bool = True) -> tuple[Counted, ...]:
        """The counts of this process; see `Counter.result`."""
        return tuple(counter.result(wait) for counter, _ in list(self._counters.values()))

    # ------------------------------------------------------------------------------------------------------------------

    def _look_at(self, fix: Fix, place: str) -> None:
        """Observe a function that is not a target itself."""
        name = place.partition(":")[0]
        module = sys.modules.get(name)
        if module is None or not installed.is_executed(name):
            self._waiting[fix.id, place] = fix
        else:
            self._try(fix, place, module)

    def _try(self, fix: Fix, place: str, module: types.ModuleType) -> None:
        try:
            self._count(fix, place, module)
        except Refusal as refusal:
            self._unobservable[fix.id, place] = str(refusal)

    def _count(self, fix: Fix, place: str, module: types.ModuleType) -> None:
        qualname = place.partition(":")[2]
        site = live.resolve(module, qualname)
        if site.function is None or site.function.__module__ != module.__name__:
            raise Refusal(f"{qualname} is no Python function that is defined in {module.__name__}")
        with self._lock:
            known = self._counters.get((fix.id, place))
            if known is None or not self._journal.is_in_place(known[1]):  # a module that was executed again lacks it
                names, extra = edit.parameters(site.function)
                is_method = isinstance(site.owner, type) and not isinstance(site.raw, staticmethod) and bool(names)
                if known is None:
                    of_fix = self.trigger_of(fix.id)
                    counter = Counter(fix.id, place, of_fix, names, is_method, extra, self._notified)
                else:
                    counter = known[0]
                called = edit.provide(site.function, counter.name, counter.seen)
                target = edit.target(module.__name__, qualname, called, names)
                self._counters[fix.id, place] = counter, target
            else:
                target = known[1]
            try:
                self._journal.install(replace(fix, order=_LAST), target, module)
            except Refusal:
                self._counters.pop((fix.id, place), None)
                raise

    def _notified(self, counter: Counter, is_first: bool) -> None:
        if counter.problem:
            where = f"{counter.fix}: on some calls of {counter.place} it is unclear whether the bug is triggered"
            self._warn_once(f"{where} ({counter.problem})", "trigger", counter.fix, counter.place)
        self.on_strike()


def _nothing() -> None:
    pass


def _names(fix: Fix) -> set[str]:
    return {str(target) for target in fix.targets}


def reset() -> None:
    """Reset all counts of this process to zero, for tests and for measuring one part of a run."""
    for each in counter.counters():
        each.forget()
