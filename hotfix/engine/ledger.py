"""Records the outcome of each target, and logs those that the user should know.

Errors while a target is handled are contained here (`Ledger.contained`) and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple, Optional

from .._support.locks import Lock
from .._support.words import described
from ..errors import HotfixError
from ..versions import installed
from ..versions.judgement import Verdict
from .log import Log
from .policy import Policy


class State(str, Enum):
    """The state of a target."""

    APPLIED = "applied"  #: the fix is in place
    OBSERVED = "observed"  #: not repaired; its calls are counted (``HOTFIX_MODE=observe``)
    PENDING = "pending"  #: the fix will be applied when the module is imported
    SKIPPED = "skipped"  #: nothing to do, or nothing that hotfix may do
    DISABLED = "disabled"  #: switched off
    FAILED = "failed"  #: the fix should be in place and is not


class Outcome(NamedTuple):
    """The outcome of one target of one fix.

    Attributes:
        fix: id of the fix.
        target: ``package.module:qualname``.
        verdict: the verdict on the source.
        state: what hotfix did.
        late: whether the module was imported before hotfix was armed.
        reason: one sentence.
        source: digest of the judged source; empty if there was none.
        harmless: whether nothing in the source looks broken; then a source that was never examined is not logged.
        converts: whether the repair only converts input, and logs each conversion itself.
        restores: whether it only serves code that would fail without it, such as a removed name. Then it is in the
            report, and the last log line of the process counts the names that the program received.
    """

    fix: str
    target: str
    verdict: Verdict
    state: State
    late: bool
    reason: str
    source: str = ""
    harmless: bool = False
    converts: bool = False
    restores: bool = False

    @property
    def is_news(self) -> bool:
        """Whether the user should know: the fix should be in place and is not, or unrepaired code may be broken."""
        if self.state is State.FAILED:
            return True
        return self.verdict in (Verdict.UNKNOWN, Verdict.FOREIGN) and not self.harmless

    @property
    def looks_broken(self) -> bool:
        """Whether nobody has examined the source, and the fix's matcher finds the bug in it."""
        return self.verdict is Verdict.UNKNOWN and bool(self.source) and not self.harmless

    def to_dict(self) -> dict[str, object]:
        """The public form, as in ``hotfix status --json``."""
        return {
            "fix": self.fix,
            "target": self.target,
            "verdict": self.verdict.value,
            "state": self.state.value,
            "late": self.late,
            "reason": self.reason,
            "harmless": self.harmless,
        }


class Ledger:
    """The outcomes of one session, by fix and target, behind one lock."""

    def __init__(self, switches: Policy, log: Log) -> None:
        self._policy = switches
        self._log = log
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self.repaired: dict[str, tuple[str, str]] = {}  # fixes that were put in place: their package and kind of bug
        self.reverted: set[str] = set()  # those of them that were removed again
        self._lock = Lock()

    def record(self, outcome: Outcome) -> None:
        """Record an outcome, and log it if the user should know; see `keep` and `say`."""
        self.keep(outcome)
        self.say(outcome)

    def say(self, outcome: Outcome) -> None:
        """Log an outcome, at a level that depends on its importance.

        Raises:
            HotfixError: in strict mode, instead of a warning; under ``HOTFIX_UNKNOWN=raise``, for unknown source.
        """
        log, what = self._log, f"{outcome.fix}: {outcome.target}"
        if outcome.state is State.APPLIED:  # `say_applied` logs one line for all of them
            log.log(logging.DEBUG, f"{what}: applied{' (late)' * outcome.late}. {outcome.reason}")
        elif outcome.verdict is Verdict.UNKNOWN and self._policy.unknown == "raise":
            raise HotfixError(f"{what}: {outcome.reason}")
        elif outcome.is_news:
            sentence = f"{outcome.fix}: {outcome.reason.rstrip('.')}. `hotfix explain {outcome.fix}` says more."
            if outcome.looks_broken:  # short, since a new release may have several
                sentence = (
                    f"{outcome.fix}: looks broken in {_release(outcome)}, which was not examined; "
                    "it stays as it is. See `hotfix status --unknown`."
                )
            if self._policy.strict:
                raise HotfixError(f"{what}: {outcome.reason}")
            # One line for all targets of a fix.
            tell = log.fail_once if outcome.state is State.FAILED else log.warn_once
            tell(sentence, outcome.fix, outcome.verdict.value)
        else:
            log.log(logging.DEBUG, f"{what}: {outcome.verdict.value}. {outcome.reason}")

    def say_applied(self, fix: str, kind: str, outcomes: Sequence[Outcome]) -> None:
        """Log that a fix is in place: one line per fix and process; the report has the other places.

        The line does not contain the title of the bug, which often is an error message and would look like an error of
        this run.

        Args:
            fix: id of the fix.
            kind: kind of the bug.
            outcomes: the applied targets in one module. Converters log each conversion themselves, and restored names
                are logged when code uses them.
        """
        outcomes = [outcome for outcome in outcomes if not (outcome.converts or outcome.restores)]
        if outcomes:
            self.reverted.discard(fix)
        if not outcomes or not self._log.is_news(fix, "applied"):
            return
        more = len(outcomes) - 1
        others = f" and {more} more function{'s' * (more > 1)}" if more else ""
        late = " (late)" * any(outcome.late for outcome in outcomes)
        changes = "; results change" * (kind == "silent")
        self.repaired[fix] = outcomes[0].target.partition(":")[0].partition(".")[0], kind
        self._log.log(logging.INFO, f"{fix}: applied to {outcomes[0].target}{others}{late}{changes}")

    def outcomes(self) -> dict[tuple[str, str], Outcome]:
        """A copy of the outcomes, by fix and target."""
        with self._lock:
            return dict(self._outcomes)

    def has(self, fix: str, target: str) -> bool:
        """Whether a target has an outcome."""
        with self._lock:
            return (fix, target) in self._outcomes

    def of_module(self, fix: str, module: str) -> list[Outcome]:
        """The outcomes of a fix in one module."""
        return [
            outcome
            for (id, target), outcome in self.outcomes().items()
            if id == fix and target.partition(":")[0] == module
        ]

    def keep(self, outcome: Outcome) -> None:
        """Record an outcome without logging it."""
        with self._lock:
            self._outcomes[outcome.fix, outcome.target] = outcome

    def amend(self, outcome: Outcome, sentence: str) -> None:
        """Add a sentence to a recorded outcome, unless it has been replaced."""
        with self._lock:
            key = outcome.fix, outcome.target
            if self._outcomes.get(key) == outcome:
                self._outcomes[key] = outcome._replace(reason=f"{outcome.reason} {sentence}")

    def forget(self, fix: str, target: str) -> None:
        """Drop an outcome after its fix was removed."""
        with self._lock:
            self._outcomes.pop((fix, target), None)

    def note_reverted(self, ids: Optional[Collection[str]]) -> None:
        """Note which of some fixes, or of all if None, have no repaired target any more."""
        with self._lock:
            in_place = {fix for (fix, _), outcome in self._outcomes.items() if outcome.state is State.APPLIED}
        self.reverted |= {fix for fix in self.repaired if fix not in in_place and (ids is None or fix in ids)}

    @contextmanager
    def contained(self, fix: str, target: str, late: bool = False) -> Iterator[None]:
        """Turn any error in the block into a `failed` outcome, so that the user's import goes on.

        `HotfixError`, which is raised on purpose, and KeyboardInterrupt pass. SystemExit does not, because a fix must
        not end the program.
        """
        try:
            yield
        except HotfixError:
            raise
        except (Exception, SystemExit) as error:
            reason = f"hotfix itself failed: {described(error)}; the module is unchanged."
            self.record(Outcome(fix, target, Verdict.UNKNOWN, State.FAILED, late, reason))


def _release(outcome: Outcome) -> str:
    package = outcome.target.partition(".")[0]
    return f"{package} {installed.version(package) or 'without a version'}"
