"""The settings of `hotfix scan` in ``[tool.hotfix.scan]`` of a project's pyproject.toml: bugs to fail on and to ignore.

    [tool.hotfix.scan]
    fail-on = "silent"

    [[tool.hotfix.scan.ignore]]
    id = "trainer-dp-loss-mean-num-items"
    reason = "we train on one GPU a process"
    expires = 2027-01-31

An entry without a reason is an error, and so is a key that does not exist: nobody would see again a bug that is ignored
by mistake. The file is parsed, so its tables may be written in any way. A file that cannot be parsed is an error, since
it may have settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Optional

from ...engine.policy import VARIABLES
from ...engine.settings import key_of
from ...reports.trees import Tree
from .. import CommandError, bugs
from ..pins import readers

LIMIT = 1024 * 1024  # bytes
FAIL_ON = ("silent", "crash", "any")
_ENTRY = ("id", "reason", "expires")


@dataclass(frozen=True)
class Ignored:
    """A bug that a project ignores.

    Attributes:
        id: of the bug.
        reason: why, in the project's words.
        expires: the last day on which it is ignored; None without an end.
    """

    id: str
    reason: str
    expires: Optional[date] = None

    def holds(self, today: date) -> bool:
        """Whether it is still ignored."""
        return self.expires is None or today <= self.expires


@dataclass(frozen=True)
class ProjectSettings:
    """The settings of one project.

    Attributes:
        file: the file that has them; empty if there is none.
        fail_on: as the option of the command, or an empty string.
        ignored: bugs that do not count.
    """

    file: str = ""
    fail_on: str = ""
    ignored: tuple[Ignored, ...] = ()


def read(start: Path) -> ProjectSettings:
    """The settings in the nearest pyproject.toml that has any, from a folder upwards.

    Raises:
        CommandError: they cannot be read, or have an unknown key.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        file = folder / "pyproject.toml"
        if not os.path.lexists(file) or file.is_dir():
            continue
        table = _table(str(file), "tool.hotfix", _table(str(file), "tool", _document(folder, file)))
        if table:
            _only(str(file), "[tool.hotfix]", table, ("scan", *map(key_of, VARIABLES)))
            return _settings(str(file), _table(str(file), "tool.hotfix.scan", table))
    return ProjectSettings()


def _document(folder: Path, file: Path) -> dict[str, Any]:
    try:
        text = Tree(folder).read(file, LIMIT).decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}; it may have settings for hotfix scan") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file}: not a text file in UTF-8") from None
    return readers.toml(str(file), text) if readers.can_read_toml() or _MAY_BE_OURS.search(text) else {}


# Without a parser: the key as a word, or written with escapes. `transformers-hotfix` among the dependencies is no key.
_MAY_BE_OURS = re.compile(r"(?<![\w-])hotfix(?![\w-])|\\[uUx]")


def _table(file: str, name: str, above: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table by its dotted name in the one above it; empty if there is none.

    Raises:
        CommandError: something else has its name.
    """
    table = above.get(name.rpartition(".")[2], {})
    if not isinstance(table, dict):
        kind = {list: "a list", str: "a text", bool: "true or false", int: "a number"}.get(type(table), "a value")
        raise CommandError(f"{file}: {name} is {kind} and must be a table; write [{name}]")
    return table


def _settings(file: str, table: Mapping[str, Any]) -> ProjectSettings:
    _only(file, "[tool.hotfix.scan]", table, ("fail-on", "ignore"))
    fail_on = table.get("fail-on", "")
    if fail_on not in ("", *FAIL_ON):
        raise CommandError(f"{file}: fail-on = {str(fail_on)[:60]!r}: allowed are {', '.join(FAIL_ON)}")
    entries = table.get("ignore", [])
    if not isinstance(entries, list):
        raise CommandError(f"{file}: ignore must be a list of tables with id and reason")
    return ProjectSettings(file, fail_on, tuple(_ignored(file, entry) for entry in entries))


def _ignored(file: str, entry: Any) -> Ignored:
    if not isinstance(entry, dict):
        raise CommandError(f"{file}: ignore must be a list of tables with id and reason")
    _only(file, "ignore", entry, _ENTRY)
    id, reason, expires = entry.get("id"), entry.get("reason"), entry.get("expires")
    if not isinstance(id, str) or not isinstance(reason, str) or not reason.strip():
        raise CommandError(f"{file}: an ignored bug needs an id and a reason; add them to [[tool.hotfix.scan.ignore]]")
    try:
        bugs.named(id)
    except CommandError as error:
        raise CommandError(f"{file}: {error}") from None
    if isinstance(expires, str):
        try:
            expires = date.fromisoformat(expires)
        except ValueError:
            raise CommandError(f"{file}: expires = {str(expires)[:60]!r}: write it as 2027-01-31") from None
    if isinstance(expires, datetime):
        expires = expires.date()
    if expires is not None and not isinstance(expires, date):
        raise CommandError(f"{file}: expires: write it as 2027-01-31")
    return Ignored(id, " ".join(reason.split()), expires)


def _only(file: str, where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise CommandError(f"{file}: {where} has no {key[:60]!r}; known are {', '.join(known)}")
