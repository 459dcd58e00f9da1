"""What ``[tool.hotfix.scan]`` in a project's pyproject.toml says to `hotfix scan`: what to fail on, what to ignore.

    [tool.hotfix.scan]
    fail-on = "silent"

    [[tool.hotfix.scan.ignore]]
    id = "trainer-dp-loss-mean-num-items"
    reason = "we train on one GPU a process"
    expires = 2027-01-31

An entry without a reason is an error, and so is a key that does not exist: what is ignored by mistake is not seen
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Optional

from ..engine.policy import VARIABLES
from ..engine.settings import key_of
from . import CommandError, bugs, pins

FAIL_ON = ("silent", "crash", "any")
_ENTRY = ("id", "reason", "expires")


@dataclass(frozen=True)
class Ignored:
    """A bug that a project lives with.

    Attributes:
        id: of the bug.
        reason: why, in the project's words.
        expires: the last day on which it is ignored; None for ever.
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
        file: where they stand; empty if there is none.
        fail_on: as the option of the command, or an empty string.
        ignored: bugs that do not count.
    """

    file: str = ""
    fail_on: str = ""
    ignored: tuple[Ignored, ...] = ()


def read(start: Path) -> ProjectSettings:
    """The settings in the nearest pyproject.toml that has any, from a folder upwards.

    Raises:
        CommandError: they cannot be read, or have what does not exist.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        file = folder / "pyproject.toml"
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if "[tool.hotfix" not in text and "tool.hotfix" not in text:
            return ProjectSettings()
        table = pins.toml(str(file), text).get("tool", {}).get("hotfix", {})
        _only(str(file), "[tool.hotfix]", table, ("scan", *map(key_of, VARIABLES)))
        return _settings(str(file), table.get("scan", {}))
    return ProjectSettings()


def _settings(file: str, table: Mapping[str, Any]) -> ProjectSettings:
    _only(file, "[tool.hotfix.scan]", table, ("fail-on", "ignore"))
    fail_on = table.get("fail-on", "")
    if fail_on not in ("", *FAIL_ON):
        raise CommandError(f"{file}: fail-on = {fail_on!r}: allowed are {', '.join(FAIL_ON)}")
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
        raise CommandError(f"{file}: what is ignored needs an id and a reason")
    bugs.named(id)
    if isinstance(expires, str):
        try:
            expires = date.fromisoformat(expires)
        except ValueError:
            raise CommandError(f"{file}: expires = {expires!r}: write it as 2027-01-31") from None
    if isinstance(expires, datetime):
        expires = expires.date()
    if expires is not None and not isinstance(expires, date):
        raise CommandError(f"{file}: expires: write it as 2027-01-31")
    return Ignored(id, " ".join(reason.split()), expires)


def _only(file: str, where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise CommandError(f"{file}: {where} has no {key!r}; known are {', '.join(known)}")
