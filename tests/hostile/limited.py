"""Runs the command in a fresh process that is ended when it uses more than any input may cost.

The limits are far above normal use, so that a busy machine does not fail a test. The inputs that exceeded them took
minutes, filled the memory, or did not end.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hotfix.commands.main import main
from tests.commands.cli_runs import ROOT

SECONDS = 20  # of processor time
WAITING = 120  # seconds after which a process that waits for a pipe is ended
MEMORY = 500  # megabytes

_CODE = """
import sys
from hotfix.commands.main import main
try:
    status = main(sys.argv[2:])
except SystemExit as end:
    status = end.code
with open("/proc/self/status") as state, open(sys.argv[1], "w") as file:
    file.write(state.read())
sys.exit(status)
"""


@dataclass(frozen=True)
class Run:
    """The result of a command.

    Attributes:
        status: its exit status; negative if a signal ended it, for instance because of a limit.
        stdout: its output.
        stderr: its error output.
        seconds: of processor time.
        megabytes: its peak memory; 0 if it was ended.
    """

    status: int
    stdout: str
    stderr: str
    seconds: float
    megabytes: float

    @property
    def is_internal_error(self) -> bool:
        """Whether it ended with an unexpected error or a traceback."""
        return "--debug" in self.stderr or "Traceback (most recent" in self.stderr


def hotfix(*words: str | Path, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Run:
    """Run ``python -m hotfix WORDS`` within the limits.

    Args:
        words: the command line.
        cwd: the working directory.
        stdin: the input of the command.
        env: environment variables.
    """
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state")
        Path(folder, "in").write_bytes(stdin)
        out, error = Path(folder, "out"), Path(folder, "err")
        with Path(folder, "in").open("rb") as given, out.open("wb") as to_out, error.open("wb") as to_error:
            process = subprocess.Popen(
                [sys.executable, "-c", _CODE, state, *words],
                cwd=cwd,
                env={"PATH": "", "PYTHONPATH": str(ROOT), **(env or {})},
                stdin=given,
                stdout=to_out,
                stderr=to_error,
                preexec_fn=_limit,  # the child imports nothing between fork and exec
            )
            killer = threading.Timer(WAITING, process.kill)
            killer.start()
            _, status, usage = os.wait4(process.pid, 0)
            killer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
        return Run(
            process.returncode,
            out.read_text(encoding="utf-8", errors="replace"),
            error.read_text(encoding="utf-8", errors="replace"),
            usage.ru_utime + usage.ru_stime,
            _peak(state),
        )


def in_this_process(capsys: pytest.CaptureFixture[str], *words: str) -> Run:
    """Run the command in this process, without limits."""
    capsys.readouterr()
    status = main(words)
    printed = capsys.readouterr()
    return Run(status, printed.out, printed.err, 0.0, 0.0)


def require(run: Run, *statuses: int) -> Run:
    """Fail unless a run ended by itself, with one of these statuses, within the limits, and without a traceback."""
    assert run.status in (statuses or (0, 1, 2)), run
    assert not run.is_internal_error, run.stderr
    if run.status == 2:
        assert not run.stdout
        assert run.stderr.count("\n") == 1, run.stderr
    assert run.megabytes < MEMORY, run
    return run


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY * 2**20, 2 * MEMORY * 2**20))


def _peak(state: Path) -> float:
    """Not that of `os.wait4`, which counts what this process had before the child began."""
    kilobytes: Any = re.search(r"VmHWM:\s*(\d+) kB", state.read_text()) if state.exists() else None
    return int(kilobytes[1]) / 1024 if kilobytes else 0.0
