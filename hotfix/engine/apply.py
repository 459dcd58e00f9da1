"""Repairs an imported module: judges it, checks for changes by other code, installs the fix."""

from __future__ import annotations

import types
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Optional

from .._support.memo import recent
from ..errors import Refusal
from ..fix import Fix, Target
from ..patching import presence, standing
from ..patching.journal import Journal
from ..versions import installed
from ..versions.judgement import Judgement, Verdict
from ..versions.verdict import Reader, judge, read_installed
from .ledger import Outcome, State
from .policy import Policy

if TYPE_CHECKING:
    from ..observing.observer import Observer


class Applier:
    """Applies fixes to loaded modules in two steps: `judge` may be slow, `apply` runs under a lock.

    Args:
        switches: the switches.
        journal: makes and records the changes.
        observer: counts calls, if the user asks for that.
    """

    def __init__(self, switches: Policy, journal: Journal, observer: Optional[Observer] = None) -> None:
        self._policy = switches
        self._journal = journal
        self._observer = observer

    def judge(self, fix: Fix, target: Target, module: types.ModuleType) -> Judgement:
        """Judge the source of one target of an imported module; import the modules of its companions."""
        judgement = _judged(fix, target, module)
        if self._calls_for_a_change(judgement) and self._observer:
            self._observer.trigger_of(fix.id)  # imports its module
        if self._calls_for_a_change(judgement) and not self._policy.observes:
            for companion in fix.companions:
                # If it is missing, `_bring_companions` reports that, with the reason.
                with suppress(ImportError):
                    import_module(companion.module)
        return judgement

    def apply(self, fix: Fix, target: Target, judgement: Judgement, module: types.ModuleType, late: bool) -> Outcome:
        """Check for changes by other code, and do what the verdict calls for."""
        judgement = self._of_what_runs(target, judgement, module)
        return self._apply_verdict(fix, target, judgement, module, late)

    def look(self, fix: Fix, target: Target, module: types.ModuleType) -> Judgement:
        """Judge the running code; change and import nothing."""
        judgement = _judged(fix, target, module)
        return self._of_what_runs(target, judgement, module)

    def _of_what_runs(self, target: Target, judgement: Judgement, module: types.ModuleType) -> Judgement:
        here = target.in_module(module.__name__)
        if target.way.adds_name:
            is_ours = self._journal.is_in_place(target)  # the module was executed again
            if judgement.verdict is Verdict.BROKEN and not is_ours and presence.has(module, target.qualname):
                return judgement._replace(verdict=Verdict.FIXED, reason="The name exists already.")
        elif judgement.source and judgement.verdict is not Verdict.UNAFFECTED:
            return self._as_it_stands(here, module, partial(_read_live, module), judgement)
        return judgement

    def _as_it_stands(self, target: Target, module: types.ModuleType, read: Reader, judgement: Judgement) -> Judgement:
        """The verdict, if the judged source is what runs; else `foreign` or `unknown`."""
        harmless = judgement.harmless or judgement.verdict is Verdict.FIXED
        missing = _missing(target, module)
        if missing and judgement.verdict is not Verdict.FIXED:
            return judgement._replace(verdict=Verdict.UNAFFECTED, reason=missing)
        for name, qualname in target.fingerprint_names():
            if name != module.__name__:
                continue
            text = read(name) or ""
            reason = standing.foreign(module, qualname, text, self._journal)
            if reason:
                return judgement._replace(verdict=Verdict.FOREIGN, reason=reason, harmless=harmless)
            reason = standing.rewritten(module, qualname, text, self._journal)
            if reason:
                return Judgement(Verdict.UNKNOWN, reason)
        is_to_be_wrapped = target.way.is_around and judgement.verdict is Verdict.BROKEN
        above = standing.wrapped_by_a_base(module, target.qualname) if is_to_be_wrapped else None
        return judgement._replace(verdict=Verdict.UNAFFECTED, reason=above) if above else judgement

    def _apply_verdict(
        self, fix: Fix, target: Target, judgement: Judgement, module: types.ModuleType, late: bool
    ) -> Outcome:
        state, reason = State.SKIPPED, judgement.reason
        is_asked_for = self._policy.asks_for(fix.id, fix.group)
        if self._policy.observes:
            if self._observer and judgement.verdict is Verdict.BROKEN:
                state, reason = _observed(self._observer, fix, target, module)
        elif judgement.verdict is Verdict.BROKEN and target.optin and not is_asked_for:
            state, reason = State.DISABLED, self._policy.off_by_default(fix.id, target.optin)
        elif self._calls_for_a_change(judgement):
            try:
                self._bring_companions(fix, is_asked_for)
                plainly = bool(fix.optin) or is_asked_for
                reason = self._journal.install(fix, target, module, late, plainly)
                state = State.APPLIED
                if fix.kind == "silent" and not target.converts:
                    reason += " Numbers change: those of this release are wrong."
            except Refusal as refusal:
                state, reason = State.FAILED, f"Refused, nothing was changed: {refusal}"
            finally:
                self._dismiss_companions(fix)
            if self._observer and state is State.APPLIED:
                self._observer.count(fix, target, module)
        name = str(target.in_module(module.__name__))
        result = judgement.verdict, state, late, reason, judgement.source, judgement.harmless
        restores = self._policy.restores_on_demand(fix, target)
        return Outcome(fix.id, name, *result, converts=target.converts, restores=restores)

    def _calls_for_a_change(self, judgement: Judgement) -> bool:
        forced = judgement.verdict is Verdict.UNKNOWN and self._policy.unknown == "apply"
        return judgement.verdict is Verdict.BROKEN or (forced and not judgement.harmless)

    def _bring_companions(self, fix: Fix, is_asked_for: bool) -> None:
        """Install the companions, which must change together with a target."""
        for companion in fix.companions:
            if self._journal.is_in_place(companion) or (companion.optin and not is_asked_for):
                continue
            try:
                module = import_module(companion.module)
            except ImportError as error:
                raise Refusal(f"{companion} must change together with it and cannot be imported: {error}") from error
            self._journal.install(fix, companion, module, late=True)

    def _dismiss_companions(self, fix: Fix) -> None:
        """Remove the companions if no target is repaired."""
        if fix.companions and not any(map(self._journal.is_in_place, fix.targets)):
            self._journal.uninstall({fix.id})


def _observed(observer: Observer, fix: Fix, target: Target, module: types.ModuleType) -> tuple[State, str]:
    try:
        return State.OBSERVED, observer.observe(fix, target, module)
    except Refusal as refusal:
        return State.SKIPPED, f"Not repaired, and not observable: {refusal}."


def _missing(target: Target, module: types.ModuleType) -> Optional[str]:
    """Why there is nothing to wrap, as a sentence: the module could not import the name."""
    imported = target.way.is_around and target.fingerprint_of and "." not in target.qualname
    if not imported or vars(module).get(target.qualname) is not None:
        return None
    return f"{module.__name__} could not import {target.qualname} and does without it."


def _judged(fix: Fix, target: Target, module: types.ModuleType) -> Judgement:
    return judge(fix, target.in_module(module.__name__), partial(_read_live, module), executed=module.__name__)


@recent(4)
def _read_live(module: types.ModuleType, name: str) -> Optional[str]:
    return installed.source_of(module.__spec__) if name == module.__name__ else read_installed(name)
