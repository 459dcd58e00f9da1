"""Writes files atomically, and reads regular files of untrusted writers within a size limit."""

from __future__ import annotations

import os
import stat
import sys
import time
import uuid
from pathlib import Path


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file under another name, and rename it when it is complete.

    This call creates the other name, a new one each time, so it never writes through an existing file or link in the
    folder.

    Args:
        path: the path of the file; an existing file or link is replaced.
        text: its content.
        mode: its permissions, less the process's mask.

    Raises:
        OSError: it cannot be written, or a device, a pipe or a socket exists there; nothing is left behind.
    """
    if os.path.lexists(path) and stat.S_IFMT(os.lstat(path).st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
        raise OSError(f"{path}: not a regular file")  # the rename would replace a device by a file
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(partial, flags, mode)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        _rename(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


_WINDOWS = sys.platform == "win32"
_ATTEMPTS = 20  # a twentieth of a second apart


def _rename(partial: Path, path: Path) -> None:
    """Like `os.replace`, but retries for a second on Windows, which refuses it while another process reads the file."""
    for _ in range(_ATTEMPTS - 1):
        try:
            os.replace(partial, path)
        except PermissionError:
            if not _WINDOWS:
                raise
            time.sleep(0.05)
        else:
            return
    os.replace(partial, path)


def read_regular(path: Path, limit: int) -> bytes:
    """Read a file from an untrusted writer.

    Args:
        path: of the file.
        limit: the most bytes that are read.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than `limit`.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a device may do something when it is opened
        raise OSError("not a regular file")
    # Do not block if a pipe has replaced the file meanwhile.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(f"it is larger than {limit} bytes")
    return content
