"""The step from an imported module to a repaired one: judge, see who else is there, change, write down."""

from __future__ import annotations

import types
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Optional

from ..errors import Refusal
from ..fix import Fix, Target
from ..patching import live
from ..patching.journal import Journal
from ..versions import installed, source
from ..versions.verdict import Judgement, Reader, Verdict, judge, read_installed
from .ledger import Ledger, Outcome, State
from .policy import Policy, Unknown


class Applier:
    """Applies fixes to loaded modules; what comes of it goes into the ledger."""

    def __init__(self, switches: Policy, ledger: Ledger, journal: Journal) -> None:
        self._policy = switches
        self._ledger = ledger
        self._journal = journal

    def apply(self, fix: Fix, target: Target, module: types.ModuleType, late: bool) -> None:
        """Judge one target of a module that was imported, and do what the verdict calls for."""
        read = partial(_read_live, module)
        here = target.in_module(module.__name__)
        judgement = judge(fix, here, read)
        if judgement.verdict in (Verdict.BROKEN, Verdict.UNKNOWN) and judgement.source:
            missing, foreign = _missing(here, module), self._foreign(here, module, read)
            if missing:
                judgement = replace(judgement, verdict=Verdict.UNAFFECTED, reason=missing)
            elif foreign:
                judgement = replace(judgement, verdict=Verdict.FOREIGN, reason=foreign)
        self._apply_verdict(fix, target, judgement, module, late)

    def _apply_verdict(
        self, fix: Fix, target: Target, judgement: Judgement, module: types.ModuleType, late: bool
    ) -> None:
        state, reason = State.SKIPPED, judgement.reason
        forced = judgement.verdict is Verdict.UNKNOWN and self._policy.unknown is Unknown.APPLY
        if judgement.verdict is Verdict.BROKEN or forced:
            try:
                self._bring_companions(fix)
                reason = self._journal.install(fix, target, module, late)
                state = State.APPLIED
                if fix.kind == "silent":
                    reason += " Numbers change with it: those of this release are wrong."
            except Refusal as refusal:
                state, reason = State.FAILED, f"Refused, nothing was touched: {refusal}"
                self._dismiss_companions(fix)
        name = str(target.in_module(module.__name__))
        self._ledger.record(Outcome(fix.id, name, judgement.verdict, state, late, reason, judgement.source))

    def _bring_companions(self, fix: Fix) -> None:
        """Put in place what must change together with a target."""
        for companion in fix.companions:
            if self._journal.is_in_place(fix, companion):
                continue
            try:
                module = import_module(companion.module)
            except ImportError as error:
                raise Refusal(f"{companion} has to change along and cannot be imported: {error}") from error
            self._journal.install(fix, companion, module, late=True)

    def _dismiss_companions(self, fix: Fix) -> None:
        if not any(self._journal.is_in_place(fix, target) for target in fix.targets):
            self._journal.uninstall({fix.id})

    def _foreign(self, target: Target, module: types.ModuleType, read: Reader) -> Optional[str]:
        """Who stands in the place of a judged function of this module, as a sentence, if it is not the function."""
        for name, qualname in target.fingerprint_names():
            if name != module.__name__:
                continue
            try:
                site = live.resolve(module, qualname)
            except Refusal as refusal:
                return f"{refusal}."
            function = site.function
            if isinstance(site.raw, type) and site.raw.__module__ == name:
                continue  # a class of this module, judged as a whole
            if function is None:
                return f"{qualname} is no longer a Python function."
            code = self._journal.first_code(function)
            found = source.find(read(name) or "", qualname)
            if code.co_filename != module.__file__ or not found or code.co_firstlineno != found.lineno:
                return f"Somebody else has put the function at {code.co_filename}:{code.co_firstlineno} in its place."
        return None


def _missing(target: Target, module: types.ModuleType) -> Optional[str]:
    """Why there is nothing to wrap, as a sentence: the module could not import the name that the judged code uses."""
    imported = target.method == "wrap" and target.fingerprint_of and "." not in target.qualname
    if not imported or vars(module).get(target.qualname) is not None:
        return None
    return f"{module.__name__} could not import {target.qualname} and does without it."


def _read_live(module: types.ModuleType, name: str) -> Optional[str]:
    return installed.source_of(module.__spec__) if name == module.__name__ else read_installed(name)
