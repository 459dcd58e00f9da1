"""The log lines of hotfix, on the logger ``hotfix``.

By default these are warnings and one line at the end of the process (`hotfix.reports.summary`); ``HOTFIX_LOG=info``
adds a line for each repair. A line never contains the name or the text of an error that did not happen in this run.

If the program configures logging, it decides where the lines go; otherwise they go to stderr.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
import time
from contextlib import suppress
from typing import Callable

from .._support.locks import Lock
from ..errors import HotfixError
from . import job
from .policy import Policy

# Errors of writing in a daemon that has closed its streams or has none.
_NO_STREAM = (AttributeError, OSError, ValueError)

_LEVELS = {"quiet": logging.ERROR, "summary": logging.INFO, "info": logging.INFO, "debug": logging.DEBUG}


class Log:
    """The log of one session.

    Args:
        switches: how much is logged, and whether a warning is raised instead.

    Attributes:
        details: number of lines of level INFO, written or not.
        on_detail: called for each of them.
    """

    def __init__(self, switches: Policy) -> None:
        self.details = 0
        self.on_detail: Callable[[], None] = lambda: None
        self._policy = switches
        self._said: set[tuple[str, ...]] = set()
        self._lock = Lock()

    def log(self, level: int, sentence: str) -> None:
        """Log a line: on the first rank only, unless it is an error or the user asked for everything.

        A line of level INFO is a detail, and written only under ``HOTFIX_LOG=info`` or ``debug``.
        """
        if level == logging.INFO:
            self.details += 1
            self.on_detail()
            if self._policy.log == "summary":
                return
        self._write(level, sentence)

    def notice(self, sentence: str) -> None:
        """Log a line of level INFO that is not a detail: it is written unless ``HOTFIX_LOG=quiet``."""
        self._write(logging.INFO, sentence)

    def _write(self, level: int, sentence: str) -> None:
        chosen = self._policy.log
        if level < _LEVELS[chosen]:
            return
        if level < logging.ERROR and chosen != "debug" and job.rank() not in (None, 0):
            return
        logger = logging.getLogger("hotfix")
        if not logger.handlers:
            if self._policy.log_format == "json":
                logger.addHandler(_JsonLines())
                logger.propagate = False  # the program's own handlers would write the line a second time
            else:
                handler = _Stderr()
                handler.setFormatter(logging.Formatter("hotfix: %(message)s"))
                logger.addHandler(handler)
        logger.setLevel(min(_LEVELS[chosen], logger.level or logging.CRITICAL))
        logger.log(level, sentence)

    def warn_once(self, sentence: str, *about: str) -> None:
        """Log a warning once; it is never raised.

        Args:
            sentence: the warning.
            about: the subject, if several sentences about it are logged only once; by default the sentence itself.
        """
        if self.is_news(*(about or (sentence,))):
            self.log(logging.WARNING, sentence)

    def fail_once(self, sentence: str, *about: str) -> None:
        """Log once that hotfix did not do what the user asked for: on every rank, even under ``HOTFIX_LOG=quiet``.

        Args:
            sentence: the action that was not done, and why.
            about: as in `warn_once`.
        """
        if self.is_news(*(about or (sentence,))):
            self.log(logging.ERROR, sentence)

    def warn_or_raise(self, sentence: str) -> None:
        """Log once, even if quiet, that a switch or a plugin has no or another effect; raise in strict mode.

        All ranks have the same switches, so only the first one logs it.

        Raises:
            HotfixError: in strict mode.
        """
        if self._policy.strict:
            raise HotfixError(sentence)
        if job.rank() in (None, 0):
            self.fail_once(sentence)

    def is_news(self, *about: str) -> bool:
        """Whether this is the first call with these arguments."""
        with self._lock:
            if about in self._said:
                return False
            self._said.add(about)
            return True


class _JsonLines(logging.Handler):
    """Writes each line as one JSON object to the current sys.stdout."""

    def emit(self, record: logging.LogRecord) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": "hotfix",
            "message": record.getMessage(),
            "rank": job.rank(),
            "host": socket.gethostname(),
            "pid": record.process,
        }
        with suppress(*_NO_STREAM):
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to the current sys.stderr, and only if the program has no handlers of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr  # `setStream` would flush the previous stream, which may be closed
            with suppress(*_NO_STREAM):
                super().emit(record)
