"""The releases that have a name: a model type, a class, a module.

Half of the error messages that people paste come from no bug: the release is too old for the model, or too new for the
code that uses it. The table of `hotfix.releases.symbols` has the names that came or went within the examined releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Optional

from packaging.version import Version

from ...releases import symbols
from ..bugs import PACKAGE
from .messages import Message

_KINDS = {"model types": "the model type", "models": "the model", "modules": "the module"}


@dataclass(frozen=True)
class Age:
    """A name that not every release has.

    Attributes:
        name: the name.
        what: its kind, in words.
        first: the first release that has it; empty if the oldest examined one does.
        last: the last one that has it; empty if the newest examined one does.
    """

    name: str
    what: str
    first: str = ""
    last: str = ""

    def missing_in(self, release: Optional[Version]) -> bool:
        """Whether this explains that a release does not have the name; any release will do if none is installed."""
        if release is None:
            return True
        too_old = bool(self.first) and release < Version(self.first)
        return too_old or (bool(self.last) and release > Version(self.last))

    def sentence(self, release: Optional[Version]) -> str:
        """The releases that have the name, and the remedy."""
        here = f"{PACKAGE} {release}"
        if release and self.first and release < Version(self.first):
            return (
                f"{here} is too old for {self.what} {self.name}: {self.first} is the first release that has it. "
                f"That is no bug, and only a newer release helps."
            )
        if release and self.last:
            return (
                f"{here} has no {self.name} any more: {self.last} was the last release with {self.what}. "
                "The code that uses it was written for an older release."
            )
        parts = [f"{PACKAGE} {self.first} is the first release with {self.what} {self.name}"] if self.first else []
        parts += (
            [f"{self.last} is the last one with {'it' if parts else f'{self.what} {self.name}'}"] if self.last else []
        )
        return "; ".join(parts) + "."

    def to_dict(self, release: Optional[Version]) -> dict[str, str]:
        """The public form."""
        return {**asdict(self), "sentence": self.sentence(release)}


def of_messages(messages: Iterable[Message], release: Optional[Version]) -> Optional[Age]:
    """The first name that one of the messages misses, and that this release is too old or too new for.

    Args:
        messages: from the pasted text.
        release: the installed one, if there is any.
    """
    for message in messages:
        for place, name in _asked_for(message):
            age = of_name(place, name)
            if age and age.missing_in(release):
                return age
    return None


def of_name(place: str, name: str) -> Optional[Age]:
    """The first and the last release with a name; None for an unknown name and one that every release has.

    Args:
        place: ``model types``, ``models``, ``modules``, or a module by its dotted name.
        name: the name in it.
    """
    try:
        first, last = symbols.ages().get(place, {}).get(name) or _of_table(place, name)
    except ImportError:  # of lzma, which some builds of Python lack: then no name is known
        return None
    if not first and not last:
        return None
    what = _KINDS.get(place) or ("the public name" if place == PACKAGE else f"{place}'s")
    return Age(name, what, first, last)


# ---------------------------------------------------------------------------------------------------------------------
# Below: what a message asks for, and the file.


def _of_table(place: str, name: str) -> tuple[str, str]:
    """The same for names in model files, from the table of `scan-code`."""
    if not place.startswith(f"{PACKAGE}."):
        return "", ""
    table = symbols.table()
    there = table.with_name(place, name)
    if not there:
        return "", ""
    first, last, newest = min(there), max(there), len(table.releases) - 1
    return table.releases[first] if first else "", table.releases[last] if last < newest else ""


def _asked_for(message: Message) -> Iterator[tuple[str, str]]:
    key, owner = message.key, message.owner
    if message.form in ("type", "key"):
        yield "model types", key
    elif message.form == "tokenizer":
        yield PACKAGE, key
    elif message.form == "module" and key.startswith(f"{PACKAGE}."):
        yield "modules", key
        yield from _model(key)
    elif message.form == "import" and owner in ("", PACKAGE):
        yield PACKAGE, key
    elif message.form == "import" and owner.startswith(f"{PACKAGE}."):
        yield owner, key
        yield from _model(owner)


def _model(module: str) -> Iterator[tuple[str, str]]:
    parts = module.split(".")
    if parts[1:2] == ["models"] and len(parts) > 2:
        yield "models", parts[2]
