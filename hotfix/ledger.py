"""What happened in this process: one `Outcome` for each target, and one log line where there is something to say.

The last step of the line, and the one place where failures are contained (`contained`). State: one dictionary,
behind one lock.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Optional

from . import policy
from .errors import HotfixError


class Verdict(str, Enum):
    """What the source of a target is, compared with the evidence."""

    BROKEN = "broken"  #: known to be broken
    FIXED = "fixed"  #: known to be good
    ABSENT = "absent"  #: this release has no such target
    UNAFFECTED = "unaffected"  #: the bug needs another package, in a version that is not here
    UNKNOWN = "unknown"  #: nobody has seen this source
    FOREIGN = "foreign"  #: somebody else has replaced the target


class State(str, Enum):
    """What hotfix did about a target."""

    APPLIED = "applied"  #: the fix is in place
    PENDING = "pending"  #: it will be, when the module is imported
    SKIPPED = "skipped"  #: nothing to do, or nothing that may be done
    DISABLED = "disabled"  #: switched off
    FAILED = "failed"  #: it should be in place and is not


@dataclass(frozen=True)
class Outcome:
    """What became of one target of one fix.

    Attributes:
        fix: id of the fix.
        target: ``package.module:qualname``.
        verdict: what the source is.
        state: what was done.
        late: whether the module had been imported before hotfix was armed.
        reason: one sentence.
        source: digest of the source that was judged; empty where there was none.
    """

    fix: str
    target: str
    verdict: Verdict
    state: State
    late: bool
    reason: str
    source: str = ""

    def to_dict(self) -> dict[str, object]:
        """The public form, as in ``hotfix status --json``."""
        return {
            "fix": self.fix,
            "target": self.target,
            "verdict": self.verdict.value,
            "state": self.state.value,
            "late": self.late,
            "reason": self.reason,
        }


_outcomes: dict[tuple[str, str], Outcome] = {}
_said: set[tuple[str, str, str]] = set()
_lock = threading.RLock()


def enter(outcome: Outcome) -> None:
    """Write an outcome down, and say it if it is worth a line.

    Raises:
        HotfixError: in strict mode, for what would be a warning; under ``HOTFIX_UNKNOWN=raise``, for unknown source.
    """
    with _lock:
        _outcomes[outcome.fix, outcome.target] = outcome
    module = outcome.target.partition(":")[0]
    if outcome.state is State.APPLIED:
        say(logging.INFO, f"{outcome.fix}: applied to {outcome.target}{' (late)' * outcome.late}. {outcome.reason}")
    elif outcome.state is State.FAILED or outcome.verdict in (Verdict.UNKNOWN, Verdict.FOREIGN):
        raising = outcome.verdict is Verdict.UNKNOWN and policy.current().unknown is policy.Unknown.RAISE
        if raising or policy.current().strict:
            raise HotfixError(f"{outcome.fix}: {outcome.target}: {outcome.reason}")
        # Several targets of one fix in one file are one piece of news.
        _say_once((outcome.fix, module, outcome.verdict.value), f"{outcome.fix}: {outcome.target}: {outcome.reason}")
    else:
        say(logging.DEBUG, f"{outcome.fix}: {outcome.target}: {outcome.verdict.value}. {outcome.reason}")


def complain(sentence: str) -> None:
    """Say, once, that a switch matches nothing or cannot be read; raise it in strict mode."""
    if policy.current().strict:
        raise HotfixError(sentence)
    _say_once(("", "", sentence), sentence)


def warn_once(sentence: str) -> None:
    """Say, once, what is wrong with how the program uses what was repaired; never raised."""
    _say_once(("", "", sentence), sentence)


def outcomes() -> dict[tuple[str, str], Outcome]:
    """A copy of the ledger, by fix and target."""
    with _lock:
        return dict(_outcomes)


def strike(fix: str) -> None:
    """Forget the outcomes of a fix that was taken out again."""
    with _lock:
        for key in [key for key in _outcomes if key[0] == fix]:
            del _outcomes[key]


@contextmanager
def contained(fix: str, target: str, late: bool = False) -> Iterator[None]:
    """Turn whatever goes wrong inside of the block into a `failed` outcome; the user's import goes on.

    Errors that are raised on purpose (`HotfixError`) pass, and so does what is no `Exception` (KeyboardInterrupt).
    """
    try:
        yield
    except HotfixError:
        raise
    except Exception as error:
        reason = f"hotfix itself failed: {type(error).__name__}: {error}; the module is as its release left it."
        enter(Outcome(fix, target, Verdict.UNKNOWN, State.FAILED, late, reason))


# ---------------------------------------------------------------------------------------------------------------------
# Below: logging. The logger's name is "hotfix"; a program that configures logging decides where the lines go.

_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_LEVELS = {policy.Log.QUIET: logging.ERROR, policy.Log.INFO: logging.INFO, policy.Log.DEBUG: logging.DEBUG}


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what sys.stderr is at the time, and only where the program has no handlers of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.setStream(sys.stderr)
            super().emit(record)


def say(level: int, sentence: str) -> None:
    """One line on the logger ``hotfix``: on the first rank only, unless it is an error or everything is wanted."""
    chosen = policy.current().log
    if level < logging.ERROR and chosen is not policy.Log.DEBUG and rank() not in (None, "0"):
        return
    logger = logging.getLogger("hotfix")
    if not logger.handlers:
        handler = _Stderr()
        handler.setFormatter(logging.Formatter("hotfix: %(message)s"))
        logger.addHandler(handler)
    if level >= _LEVELS[chosen]:
        logger.setLevel(min(_LEVELS[chosen], logger.level or logging.CRITICAL))
        logger.log(level, sentence)


def rank() -> Optional[str]:
    """The rank of this process as its launcher says, or None outside of a job."""
    return next((os.environ[name] for name in _RANKS if name in os.environ), None)


def _say_once(key: tuple[str, str, str], sentence: str) -> None:
    with _lock:
        if key in _said:
            return
        _said.add(key)
    say(logging.WARNING, sentence)
