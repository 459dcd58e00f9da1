"""Files that a reader finds whole, or as they were before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file under another name, and rename it when it is complete.

    Args:
        path: of the file; one that exists is replaced.
        text: its content.
        mode: its permissions, before the process's mask.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(partial, mode & ~_mask())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _mask() -> int:
    """The process's mask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
