"""What became of each target: written down, and said if it is worth a line.

Whatever goes wrong while a target is handled is contained here (`Ledger.contained`) and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple

from .._support.locks import Lock
from ..errors import HotfixError
from ..versions import installed
from ..versions.judgement import Verdict
from .log import Log
from .policy import Policy


class State(str, Enum):
    """What hotfix did about a target."""

    APPLIED = "applied"  #: the fix is in place
    OBSERVED = "observed"  #: nothing is repaired: its calls are counted (``HOTFIX_MODE=observe``)
    PENDING = "pending"  #: it will be, when the module is imported
    SKIPPED = "skipped"  #: nothing to do, or nothing that may be done
    DISABLED = "disabled"  #: switched off
    FAILED = "failed"  #: it should be in place and is not


class Outcome(NamedTuple):
    """What became of one target of one fix.

    Attributes:
        fix: id of the fix.
        target: ``package.module:qualname``.
        verdict: what the source is.
        state: what was done.
        late: whether the module had been imported before hotfix was armed.
        reason: one sentence.
        source: digest of the source that was judged; empty where there was none.
        harmless: whether nothing in the source looks broken, so that it is no news that it was never examined.
        converts: whether what was put in place acts on what is read alone, and says so then.
        restores: whether it serves code alone that would end without it, such as a removed name: it is in the report,
            and the end of the process tells of the names that were received.
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
        """Whether something should be in place and is not, or may be broken and was left alone."""
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
        self._lock = Lock()

    def record(self, outcome: Outcome) -> None:
        """Write an outcome down, and say it if it is worth a line; see `keep` and `say`."""
        self.keep(outcome)
        self.say(outcome)

    def say(self, outcome: Outcome) -> None:
        """Say an outcome if it is worth a line.

        Raises:
            HotfixError: in strict mode, for what would be a warning; under ``HOTFIX_UNKNOWN=raise``, for unknown
                source.
        """
        log, what = self._log, f"{outcome.fix}: {outcome.target}"
        if outcome.state is State.APPLIED:  # that is one line for all of them: `say_applied`
            log.log(logging.DEBUG, f"{what}: applied{' (late)' * outcome.late}. {outcome.reason}")
        elif outcome.verdict is Verdict.UNKNOWN and self._policy.unknown == "raise":
            raise HotfixError(f"{what}: {outcome.reason}")
        elif outcome.is_news:
            sentence = f"{outcome.fix}: {outcome.reason} `hotfix explain {outcome.fix}` says more."
            if outcome.looks_broken:  # short: a new release may have several of them
                sentence = (
                    f"{outcome.fix}: looks broken in {_release(outcome)}, which was not examined; "
                    "left as it is. `hotfix status --unknown` says more."
                )
            if self._policy.strict:
                raise HotfixError(f"{what}: {outcome.reason}")
            # Several targets of one fix are one piece of news.
            tell = log.fail_once if outcome.state is State.FAILED else log.warn_once
            tell(sentence, outcome.fix, outcome.verdict.value)
        else:
            log.log(logging.DEBUG, f"{what}: {outcome.verdict.value}. {outcome.reason}")

    def say_applied(self, fix: str, kind: str, outcomes: Sequence[Outcome]) -> None:
        """Say that a fix is in place: one line for each fix and process; the report has the other places.

        The line does not contain the title of the bug: it often is an error message, and would look like one of this
        run.

        Args:
            fix: its id.
            kind: of the bug.
            outcomes: what was applied in one module. What only converts says so itself, where it converts something;
                what serves old code is said of where such code asks.
        """
        outcomes = [outcome for outcome in outcomes if not (outcome.converts or outcome.restores)]
        if not outcomes or not self._log.is_news(fix, "applied"):
            return
        more = len(outcomes) - 1
        others = f" and {more} more function{'s' * (more > 1)}" if more else ""
        late = " (late)" * any(outcome.late for outcome in outcomes)
        changes = "; results change" * (kind == "silent")
        self.repaired[fix] = outcomes[0].target.partition(":")[0].partition(".")[0], kind
        self._log.log(logging.INFO, f"{fix}: applied to {outcomes[0].target}{others}{late}{changes}")

    def outcomes(self) -> dict[tuple[str, str], Outcome]:
        """A copy, by fix and target."""
        with self._lock:
            return dict(self._outcomes)

    def has(self, fix: str, target: str) -> bool:
        """Whether it is known what became of a target."""
        with self._lock:
            return (fix, target) in self._outcomes

    def of_module(self, fix: str, module: str) -> list[Outcome]:
        """What became of the targets of a fix in one module."""
        return [
            outcome
            for (id, target), outcome in self.outcomes().items()
            if id == fix and target.partition(":")[0] == module
        ]

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome down, and say nothing."""
        with self._lock:
            self._outcomes[outcome.fix, outcome.target] = outcome

    def amend(self, outcome: Outcome, sentence: str) -> None:
        """Add a sentence to what is written down of an outcome, if that still stands."""
        with self._lock:
            key = outcome.fix, outcome.target
            if self._outcomes.get(key) == outcome:
                self._outcomes[key] = outcome._replace(reason=f"{outcome.reason} {sentence}")

    def forget(self, fix: str, target: str) -> None:
        """Drop an outcome: the fix was taken out again."""
        with self._lock:
            self._outcomes.pop((fix, target), None)

    @contextmanager
    def contained(self, fix: str, target: str, late: bool = False) -> Iterator[None]:
        """Turn whatever goes wrong inside of the block into a `failed` outcome; the user's import goes on.

        Errors that are raised on purpose (`HotfixError`) pass, and so does KeyboardInterrupt. SystemExit does not: the
        code of a fix may not end the program that it was to repair.
        """
        try:
            yield
        except HotfixError:
            raise
        except (Exception, SystemExit) as error:
            reason = f"hotfix itself failed: {type(error).__name__}: {error}; the module is as its release left it."
            self.record(Outcome(fix, target, Verdict.UNKNOWN, State.FAILED, late, reason))


def _release(outcome: Outcome) -> str:
    package = outcome.target.partition(".")[0]
    return f"{package} {installed.version(package) or 'without a version'}"
