"""Runs the command as a user does: in a fresh process, in a pipe or in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ESCAPE = "\x1b["


@dataclass(frozen=True)
class Done:
    """The result of a run."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def text(self) -> str:
        """Stdout without colours, and with normalized white space."""
        return " ".join(re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.stdout).split())


def hotfix(
    *words: str,
    path: Sequence[Path] = (),
    stdin: str | bytes = "",
    terminal: bool = False,
    columns: int = 120,
    flags: Sequence[str] = (),
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run ``python -m hotfix WORDS``.

    Args:
        words: the command line.
        path: folders for PYTHONPATH, before the one that hotfix is in.
        stdin: the input of the command.
        terminal: whether stdout is a terminal.
        columns: of the terminal.
        flags: for the interpreter.
        cwd: the working directory, by default one without importable modules.
        env: variables.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HOTFIX") and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONPATH")
    }
    search = os.pathsep.join(map(str, [*path, ROOT]))
    data = stdin.encode() if isinstance(stdin, str) else stdin
    options: dict[str, Any] = {
        "env": {**kept, "PYTHONPATH": search, "TERM": "xterm-256color", **(env or {})},
        "cwd": cwd or ROOT / "tests" / "commands" / "pins",
        "stderr": subprocess.PIPE,
    }
    command = [sys.executable, *flags, "-m", "hotfix", *words]
    if not terminal:
        ended = subprocess.run(command, input=data, stdout=subprocess.PIPE, timeout=300, **options)
        return Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    pieces: list[bytes] = []
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, **options)
    os.close(theirs)
    reader = threading.Thread(target=_drain, args=(ours, pieces))
    reader.start()
    _, stderr = process.communicate(data, timeout=300)
    reader.join(10)
    os.close(ours)
    return Done(process.returncode, b"".join(pieces).decode(), stderr.decode())


def _drain(descriptor: int, pieces: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # the error on Linux when the other end is closed
            return
        if not piece:
            return
        pieces.append(piece)


@cache
def stack(name: str, flash_attn: str = "") -> tuple[Path, ...]:
    """The folders of a release of transformers, and of flash-attn."""
    from tools.testbed import overlay

    folders = [overlay.overlay(name)]
    return (*folders, overlay.flash_attn(flash_attn)) if flash_attn else tuple(folders)
