"""Reads folders from untrusted sources: a pull request, a foreign checkpoint, the records of a job.

It reads only regular files inside the folder, each up to a size limit. A pipe may never have a writer, a device has no
end, and a link may point to any file of the machine that runs the command. A file that may not be read
raises an error with the reason, so the caller can report it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .files import read_regular

MOST_FOLDERS = 100_000
DEPTH = 100  # of a document; documents with deeper nesting are refused

_REPOSITORIES = ("models--", "datasets--", "spaces--")
# Maximum bytes of Python's objects, by the character that begins or ends them in JSON.
_WEIGHTS = {b"[": 80, b"{": 80, b",": 60, b":": 100}


class Refused(OSError):
    """A file is deliberately not read; the message gives the reason."""


class Tree:
    """A folder, with the rules for reading in it.

    Args:
        folder: the folder; may be a link, since the user has named it. A snapshot in the Hub cache consists of links
            into the folder of its repository, which counts as its tree.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        resolved = folder.resolve()
        is_snapshot = resolved.parent.name == "snapshots" and resolved.parents[1].name.startswith(_REPOSITORIES)
        self._inside = resolved.parents[1] if is_snapshot else resolved
        self._folders: dict[Path, bool] = {}

    def contains(self, path: Path) -> bool:
        """Whether a path is in this tree after resolving all links."""
        try:
            return path.resolve().is_relative_to(self._inside)
        except (OSError, RuntimeError):  # RuntimeError before Python 3.13: circular links
            return False

    def refusal(self, path: Path) -> str:
        """Why a file may not be read; empty if it may.

        Args:
            path: the path of a file below the folder.
        """
        try:
            if not (self.contains(path) if path.is_symlink() else self._has(path.parent)):
                return "a link that leads nowhere" if not path.exists() else "a link that leads out of the folder"
            mode = path.stat().st_mode
        except OSError as error:
            return error.strerror or str(error)
        return "" if stat.S_ISREG(mode) else "not a regular file"

    def read(self, path: Path, limit: int) -> bytes:
        """The content of a file.

        Args:
            path: the path of a file below the folder.
            limit: the maximum size in bytes.

        Raises:
            Refused: it leads out of the folder, is not a regular file, or is larger than `limit`.
            OSError: it cannot be read.
        """
        reason = self.refusal(path)
        if reason:
            raise Refused(reason)
        if path.stat().st_size > limit:
            raise Refused(f"larger than {size_of(limit)}")
        return read_regular(path, limit)

    def walk(self, skips: Callable[[Path], bool], notes: list[str]) -> Iterator[tuple[Path, list[str]]]:
        """Each folder of the tree, this one first, with the sorted names of its entries that are not folders.

        Links to folders are not followed: their targets are elsewhere in the tree, or not part of it.

        Args:
            skips: whether to leave out a folder and its contents.
            notes: receives a note on everything else that is left out.
        """
        waiting = [self.folder]
        count = 0
        while waiting:
            folder = waiting.pop()
            count += 1
            if count > MOST_FOLDERS:
                notes.append(f"only the first {MOST_FOLDERS} folders were looked at")
                return
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                notes.append(f"{_shortened(folder)}: cannot be read ({error.strerror})")
                continue
            folders = [folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            waiting += [below for below in reversed(folders) if not skips(below)]
            yield folder, [entry.name for entry in entries if not _is_folder(entry)]

    def _has(self, folder: Path) -> bool:
        if folder not in self._folders:
            self._folders[folder] = self.contains(folder)
        return self._folders[folder]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a circular link
        return False


def _shortened(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:100]}...{text[-97:]}"


def size_of(number: int) -> str:
    """A number of bytes in readable units."""
    return (
        f"{number // 2**20} MB" if number >= 2**20 else f"{number // 1024} kB" if number >= 1024 else f"{number} bytes"
    )


def weight_of_json(data: bytes) -> int:
    """An upper bound for the memory of a JSON document in bytes, computed without parsing it.

    An empty list takes 25 times the memory of its two brackets.
    """
    return 2 * len(data) + sum(data.count(sign) * weight for sign, weight in _WEIGHTS.items())


def json_of(data: bytes, heaviest: int) -> Any:
    """The document in a JSON file.

    Args:
        data: the content of the file.
        heaviest: the maximum memory in bytes.

    Raises:
        Refused: it would take more, or is nested deeper than `DEPTH`.
        ValueError: it is not JSON in UTF-8.
    """
    if weight_of_json(data) > heaviest:
        raise Refused("more lists and entries than hotfix reads")
    try:
        document = json.loads(data.decode("utf-8"))
    except RecursionError:
        raise Refused("nested too deeply") from None
    level = [document] if isinstance(document, (dict, list)) else []
    for _ in range(DEPTH):
        if not level:
            return document
        parts = (part for value in level for part in (value.values() if isinstance(value, dict) else value))
        level = [part for part in parts if isinstance(part, (dict, list))]
    raise Refused("nested too deeply")
