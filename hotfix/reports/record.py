"""The record of this process: one JSON file in the folder that ``HOTFIX_RECORD`` names.

It is written when a watched package is imported, at each later change, in every forked child, and at exit. It is
written under another name and renamed when complete, so a reader finds a complete record or the previous one, even if
the writer is killed. If writing fails (a full disk, a read-only folder), the error is logged once and otherwise
ignored.

`hotfix.reports.fleet` reads the records of a job.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from .. import __version__
from .._support.words import PATH, shown
from ..engine import job
from ..engine.ledger import Outcome
from ..engine.log import Log
from ..engine.policy import Policy
from ..patching import compiled, restoring, scope
from .files import write_whole
from .report import Report

if TYPE_CHECKING:
    from ..observing.counter import Counted

FORMAT = 1


class Record:
    """The record of this process.

    Args:
        switches: name the folder, and are part of the record.
        log: logs a failure to write.
        look_again: called at exit; it calls `update` if it can.
        outcomes: returns the outcomes as they are now.
        counted: returns the counts so far, if calls are counted; takes whether to wait for a device.
    """

    def __init__(
        self,
        switches: Policy,
        log: Log,
        look_again: Callable[[], None],
        outcomes: Callable[[], Iterable[Outcome]],
        counted: Optional[Callable[[bool], Iterable[Counted]]] = None,
    ) -> None:
        self._policy = switches
        self._log = log
        self._look_again = look_again
        self._outcomes = outcomes
        self._counted = counted
        self._content: dict[str, Any] = {}
        self._file: Optional[Path] = None
        self._lock = threading.Lock()

    def update(self, report: Report, happened: Iterable[Outcome]) -> None:
        """Write the record, or rewrite it.

        Args:
            report: the state of this process.
            happened: the outcomes so far.
        """
        with self._lock:
            if self._file is None:
                self._begin(Path(os.path.abspath(self._policy.record)))  # the program may change its working directory
                atexit.register(self._at_exit)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=self._after_fork)
                self._write_when_a_child_ends()
            self._content.update(
                packages=dict(report.packages),
                digest=report.digest,
                patches=list(report.patches),
                outcomes=[outcome.to_dict() for outcome in happened],
            )
            self._write()

    def write(self) -> None:
        """Write the new counts; nothing else is updated."""
        with self._lock:
            if self._file is not None:
                self._write(wait=False)

    # -- the file ------------------------------------------------------------------------------------------------------

    def _begin(self, folder: Path) -> None:
        """Choose a new file name for each process: process ids are reused, and container hosts share names."""
        host = socket.gethostname()
        self._file = folder / f"{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}.json"
        self._content.update(
            format=FORMAT,
            hotfix=__version__,
            host=host,
            pid=os.getpid(),
            parent=os.getppid(),
            argv=list(getattr(sys, "orig_argv", None) or getattr(sys, "argv", [])),
            python=platform.python_version(),
            switches=dict(self._policy.environment),
            started=round(time.time(), 3),
            ended=False,
        )

    def _write(self, wait: bool = True) -> None:
        assert self._file is not None
        self._content.update(job.place(os.environ))  # Ray Train gives the rank after the start of the process
        self._content["written"] = round(time.time(), 3)
        if self._counted is not None:
            self._content["mode"] = self._policy.mode
            self._content["observed"] = [count.to_dict() for count in self._counted(wait)]
            self._content["beyond_reach"] = compiled.beyond_reach(at_the_end=bool(self._content["ended"]))
        self._content.update({"left_alone": scope.left_alone()} if scope.left_alone() else {})
        restored = {name: receipt._asdict() for name, receipt in restoring.received().items()}
        self._content.update({"restored": restored} if restored else {})
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(self._content), mode=0o600)
        except OSError as error:
            folder = self._file.parent
            self._log.fail_once(
                f"HOTFIX_RECORD={shown(str(folder), PATH)}: the record of this process cannot be written "
                f"({error.strerror or error}); "
                f"name a folder that the job may write to"
            )

    def _at_exit(self) -> None:
        self._content["ended"] = True
        self._look_again()
        with self._lock:
            self._write()

    def _after_fork(self) -> None:
        """Begin the child's own record: it has the parent's modules and repairs. The ledger is not read.

        Another thread of the parent may have held any lock at the moment of the fork.
        """
        assert self._file is not None
        self._lock = threading.Lock()
        self._begin(self._file.parent)
        self._write()
        self._write_when_a_child_ends()

    def _write_when_a_child_ends(self) -> None:
        """Write at the end of children of multiprocessing, such as DataLoader workers, which skip `atexit` handlers."""
        util: Any = sys.modules.get("multiprocessing.util")
        if util is not None:
            # A new child first clears its finalizers, then calls the functions registered here.
            util.register_after_fork(self, _finally_written)
            _finally_written(self)

    def end(self) -> None:
        """Record that this process has ended, and the changes that nothing has reported, such as a replaced repair."""
        self._content["ended"] = True
        # A report may take longer than a short worker.
        if [outcome.to_dict() for outcome in self._outcomes()] != self._content["outcomes"]:
            self._look_again()
        with self._lock:
            if self._file is not None:
                self._write()


def _finally_written(record: Record) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    util.Finalize(None, record.end, exitpriority=0)
