"""What hotfix says: one line each on the logger ``hotfix``.

By default these are warnings and one line at the end of the process (`hotfix.reports.summary`); ``HOTFIX_LOG=info``
adds a line for each repair. A line never contains the name or the text of an error that did not happen in this run.

A program that configures logging decides where the lines go; in one that does not, they go to stderr.
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

# What writing raises in a daemon that has closed its streams, or has none.
_NO_STREAM = (AttributeError, OSError, ValueError)

_LEVELS = {"quiet": logging.ERROR, "summary": logging.INFO, "info": logging.INFO, "debug": logging.DEBUG}


class Log:
    """The voice of one session.

    Args:
        switches: what is said, and whether a warning is raised instead.

    Attributes:
        details: how many lines of level INFO there were, whether they were written or not.
        on_detail: is called at each of them.
    """

    def __init__(self, switches: Policy) -> None:
        self.details = 0
        self.on_detail: Callable[[], None] = lambda: None
        self._policy = switches
        self._said: set[tuple[str, ...]] = set()
        self._lock = Lock()

    def log(self, level: int, sentence: str) -> None:
        """One line: on the first rank only, unless it is an error or everything is wanted.

        A detail, which is what INFO means here, is written only under ``HOTFIX_LOG=info`` or ``debug``.
        """
        if level == logging.INFO:
            self.details += 1
            self.on_detail()
            if self._policy.log == "summary":
                return
        self._write(level, sentence)

    def notice(self, sentence: str) -> None:
        """One line at level INFO that is no detail: it is written unless ``HOTFIX_LOG=quiet``."""
        self._write(logging.INFO, sentence)

    def _write(self, level: int, sentence: str) -> None:
        chosen = self._policy.log
        if level < logging.ERROR and chosen != "debug" and job.rank() not in (None, 0):
            return
        logger = logging.getLogger("hotfix")
        if not logger.handlers:
            if self._policy.log_format == "json":
                logger.addHandler(_JsonLines())
                logger.propagate = False  # what the program does with other lines would be a second one
            else:
                handler = _Stderr()
                handler.setFormatter(logging.Formatter("hotfix: %(message)s"))
                logger.addHandler(handler)
        if level >= _LEVELS[chosen]:
            logger.setLevel(min(_LEVELS[chosen], logger.level or logging.CRITICAL))
            logger.log(level, sentence)

    def warn_once(self, sentence: str, *about: str) -> None:
        """Warn, and never again about the same; never raised.

        Args:
            sentence: the warning.
            about: what it is about, if several sentences are one piece of news; else the sentence itself.
        """
        if self.is_news(*(about or (sentence,))):
            self.log(logging.WARNING, sentence)

    def fail_once(self, sentence: str, *about: str) -> None:
        """Say that something that was asked for was not done: on every rank, and under ``HOTFIX_LOG=quiet``, too.

        Args:
            sentence: what was not done, and why.
            about: as for a warning.
        """
        if self.is_news(*(about or (sentence,))):
            self.log(logging.ERROR, sentence)

    def warn_or_raise(self, sentence: str) -> None:
        """Say once, even if quiet, that a switch or a plugin does not do what was meant; raise in strict mode.

        All ranks have the same switches: the first one says it.

        Raises:
            HotfixError: in strict mode.
        """
        if self._policy.strict:
            raise HotfixError(sentence)
        if job.rank() in (None, 0):
            self.fail_once(sentence)

    def is_news(self, *about: str) -> bool:
        """Whether this is asked for the first time."""
        with self._lock:
            if about in self._said:
                return False
            self._said.add(about)
            return True


class _JsonLines(logging.Handler):
    """Writes each line as one JSON object to what sys.stdout is at the time."""

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
    """Writes to what sys.stderr is at the time, and only where the program has no handlers of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr  # `setStream` would flush the last one, which may be closed
            with suppress(*_NO_STREAM):
                super().emit(record)
