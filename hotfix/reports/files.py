"""Files that a reader finds whole, or as they were before."""

from __future__ import annotations

import os
import stat
import sys
import time
import uuid
from pathlib import Path


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file under another name, and rename it when it is complete.

    The other name is a new one each time and is made by this call, so that nothing that lies in the folder, a link
    least of all, is written through.

    Args:
        path: of the file; one that exists is replaced, and so is a link.
        text: its content.
        mode: its permissions, less the process's mask.

    Raises:
        OSError: it cannot be written, or what exists is a device, a pipe or a socket; nothing is left behind.
    """
    if os.path.lexists(path) and stat.S_IFMT(os.lstat(path).st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
        raise OSError(f"{path}: it is no regular file")  # the rename would put a file in the place of a device
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
    """As `os.replace`; Windows refuses it while somebody reads the file, so there it is tried for a second."""
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
    """Read a file that somebody else has written.

    Args:
        path: of the file.
        limit: the most bytes that are read.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than `limit`.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a device may do something when it is opened
        raise OSError("it is no regular file")
    # A pipe that takes its place now must not be waited for.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(f"it is larger than {limit} bytes")
    return content
