"""A command needs no streams: a job that closed them, or has a full disk, still gets a proper result.

- With stdout, stderr or both closed each command ends with its own status, and `hotfix run` and `hotfix audit` start
  their programs.
- If output cannot be written, one line on stderr says so, and the exit status is 2.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.facts import lacking

pytestmark = pytest.mark.drawn(4)  # a process for each case

CLOSED = {"stdout": ">&-", "stderr": "2>&-", "both": ">&- 2>&-", "all": "<&- >&- 2>&-"}
WORDS = [["list"], ["--version"], ["explain", "opt-double-scaling"], ["config"], ["scan", "requirements.txt"]]


def shell(folder: Path, words: list[str], streams: str) -> subprocess.CompletedProcess[str]:
    command = f"{shlex.join([sys.executable, '-m', 'hotfix', *words])} {streams}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")}
    return subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_closed_streams_change_no_status(words: list[str], closed: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    done = shell(tmp_path, words, CLOSED[closed])
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("word", ["run", "audit"])
def test_a_command_is_run_where_streams_are_closed(word: str, closed: str, tmp_path: Path) -> None:
    code = "import sys; open('ran', 'w').close(); sys.exit(7)"
    done = shell(tmp_path, [word, "--", sys.executable, "-c", code], CLOSED[closed])
    assert (done.returncode, (tmp_path / "ran").exists()) == (7, True), done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("words", [WORDS[0], WORDS[2]], ids=" ".join)
def test_a_full_disk_is_one_line(words: list[str], tmp_path: Path) -> None:
    done = shell(tmp_path, words, ">/dev/full")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert (done.returncode, lacking(done.stderr, "hotfix: ", "output", "No space left")) == (2, [])
