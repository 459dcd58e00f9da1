"""Removed names that hotfix restores by a row of its table, ``hotfix/names/removed.txt``.

The fixes that read the table have one target each, which represents thousands of rows (`hotfix.patching.tabled`). So an
error message that misses a name of the table is answered from its row, and not by the releases of the fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from packaging.version import Version

from ...patching import tabled
from .. import bugs
from .messages import Message

_SHOWN = 60  # characters of a literal


@dataclass(frozen=True)
class Restored:
    """A removed name that hotfix restores.

    Attributes:
        module: the module that lacks the name, or the removed module itself.
        name: the name; empty for a module.
        release: the release that lacks it.
        kind: of the row, see `hotfix.patching.tabled`.
        value: the replacement in the row; empty for a module.
    """

    module: str
    name: str
    release: Version
    kind: str
    value: str = ""

    @property
    def fix(self) -> str:
        """The id of the fix that restores it."""
        return tabled.FIXES[self.kind]

    def title(self) -> str:
        """The name and the release that lacks it."""
        lacking = f"{self.name} in {self.module}" if self.name else f"module {self.module}"
        return f"{bugs.PACKAGE} {self.release} has no {lacking}; hotfix restores it"

    def meaning(self) -> str:
        """The object that a program gets for the name, in a sentence."""
        if not self.name:
            return "A program that would crash without the module gets one. Each of its names has a row of its own."
        value = self.value if len(self.value) <= _SHOWN else f"{self.value[:_SHOWN]}..."
        meanings = {
            "alias": f"A program that would crash without the name gets {value.rstrip(':').replace(':', '.')}.",
            "constant": f"A program that would crash without the name gets the last value that it had: {value}",
            "hollow": (
                "A program that would crash without the name gets a class that it can name and inherit from, but not "
                "instantiate."
            ),
        }
        return meanings[self.kind]


def of_messages(messages: Iterable[Message], release: Optional[Version]) -> Optional[Restored]:
    """The first name that one of the messages misses, and that hotfix restores in this release.

    Args:
        messages: the error messages of a text.
        release: the installed release of transformers; None counts as the newest examined one.
    """
    counted = bugs.counts_as(release) if release else bugs.examined()[-1]
    for message in messages:
        for module, name in _missing(message):
            kind = tabled.kinds(module, name, [str(counted)]).get(str(counted))
            if kind:
                row = tabled.Removed(tabled.numbers(str(counted)), {}).rows(module).get(name) if name else None
                return Restored(module, name, release or counted, kind, row.value if row else "")
    return None


def _missing(message: Message) -> Iterator[tuple[str, str]]:
    """The module and the name that a message misses; the name is empty where the module is missing."""
    prefix = f"{bugs.PACKAGE}."
    if message.form == "module" and message.key.startswith(prefix):
        yield message.key, ""
    elif message.form == "import" and (message.owner == bugs.PACKAGE or message.owner.startswith(prefix)):
        yield message.owner, message.key
