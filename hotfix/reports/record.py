"""What this process writes down for the others: its record, one JSON file in the folder that ``HOTFIX_RECORD`` names.

Written when a watched package is imported, at each change after that, in every forked child, and at exit. A record is
written under another name and renamed when complete, so a reader finds a whole record or the one before it, whenever
the writer is killed. What cannot be written (a full disk, a read-only folder) is said once and otherwise ignored.

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
from ..engine import job
from ..engine.ledger import Outcome
from ..engine.log import Log
from ..engine.policy import Policy
from ..patching import asked, compiled, scope
from .files import write_whole
from .report import Report

if TYPE_CHECKING:
    from ..observing.counter import Counted

FORMAT = 1


class Record:
    """The record of this process.

    Args:
        switches: say where it goes and are part of it.
        log: for what cannot be written.
        look_again: called at exit; it calls `update` if it can.
        counted: what was counted so far, where calls are counted; takes whether to wait for a device.
    """

    def __init__(
        self,
        switches: Policy,
        log: Log,
        look_again: Callable[[], None],
        counted: Optional[Callable[[bool], Iterable[Counted]]] = None,
    ) -> None:
        self._policy = switches
        self._log = log
        self._look_again = look_again
        self._counted = counted
        self._content: dict[str, Any] = {}
        self._file: Optional[Path] = None
        self._lock = threading.Lock()

    def update(self, report: Report, happened: Iterable[Outcome]) -> None:
        """Write the record, or write it anew.

        Args:
            report: the state of this process.
            happened: what was done so far.
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
                outcomes=[one.to_dict() for one in happened],
            )
            self._write()

    def write(self) -> None:
        """Write what was counted since; nothing else is looked at."""
        with self._lock:
            if self._file is not None:
                self._write(wait=False)

    # -- the file ------------------------------------------------------------------------------------------------------

    def _begin(self, folder: Path) -> None:
        """A new process, a new file: process numbers come again, and hosts of containers share names."""
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
            self._content["observed"] = [one.to_dict() for one in self._counted(wait)]
            self._content["beyond_reach"] = compiled.beyond_reach(at_the_end=bool(self._content["ended"]))
        self._content.update({"left_alone": scope.left_alone()} if scope.left_alone() else {})
        restored = {name: one._asdict() for name, one in asked.received().items()}
        self._content.update({"restored": restored} if restored else {})
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(self._content), mode=0o600)
        except OSError as error:
            folder = self._file.parent
            self._log.fail_once(f"HOTFIX_RECORD={folder}: the record of this process cannot be written ({error})")

    def _at_exit(self) -> None:
        self._content["ended"] = True
        self._look_again()
        with self._lock:
            self._write()

    def _after_fork(self) -> None:
        """The child has the parent's modules and repairs, and is a process of its own. Nothing of the ledger is asked.

        Another thread of the parent may have held any lock at the moment of the fork.
        """
        assert self._file is not None
        self._lock = threading.Lock()
        self._begin(self._file.parent)
        self._write()
        self._write_when_a_child_ends()

    def _write_when_a_child_ends(self) -> None:
        """A child of multiprocessing, a worker of a DataLoader for instance, ends without what `atexit` would run."""
        util: Any = sys.modules.get("multiprocessing.util")
        if util is not None and self._counted is not None:
            # What is to be done at the end is forgotten when a child begins; then the first of these is called.
            util.register_after_fork(self, _finally_written)
            _finally_written(self)

    def end(self) -> None:
        """Write that this process has come to its end."""
        self._content["ended"] = True
        with self._lock:
            if self._file is not None:
                self._write()


def _finally_written(record: Record) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    util.Finalize(None, record.end, exitpriority=0)
