"""Which fixes are on in a process: the union of what was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import HotfixError
from ..locks import Lock
from .catalogue import Catalogue
from .entry import Entry
from .policy import Policy


class Request:
    """What one caller has asked for; it stays in force until it is released.

    Attributes:
        ids: the fixes.
        added: those of them that were not on before.
    """

    def __init__(self, ids: Iterable[str], added: Iterable[str]) -> None:
        self.ids = frozenset(ids)
        self.added = tuple(added)


class Selection:
    """The fixes that are on, by id: each as long as some request asks for it."""

    def __init__(self) -> None:
        self._requests: list[Request] = []
        self._entries: dict[str, Entry] = {}
        self._ids: frozenset[str] = frozenset()
        self._lock = Lock()

    def request(self, entries: Iterable[Entry]) -> Request:
        """Switch fixes on."""
        with self._lock:
            entries = list(entries)
            new = [entry for entry in entries if entry.id not in self._entries]
            self._entries.update({entry.id: entry for entry in new})
            request = Request((entry.id for entry in entries), (entry.id for entry in new))
            self._requests.append(request)
            self._ids = frozenset(self._entries) if new else self._ids
            return request

    def release(self, request: Request) -> set[str]:
        """Take a request back. Returns the fixes that nobody asks for any more; a second time, none."""
        with self._lock:
            if request not in self._requests:
                return set()
            self._requests.remove(request)
            wanted = set().union(*(one.ids for one in self._requests))
            gone = set(request.ids - wanted) & self._entries.keys()
            for id in gone:
                del self._entries[id]
            self._ids = frozenset(self._entries) if gone else self._ids
            return gone

    def clear(self) -> None:
        """Take all requests back."""
        with self._lock:
            self._requests.clear()
            self._entries.clear()
            self._ids = frozenset()

    @property
    def entries(self) -> list[Entry]:
        """The fixes that are on, in the order in which they were asked for."""
        with self._lock:
            return list(self._entries.values())

    @property
    def ids(self) -> frozenset[str]:
        """Their ids: the same object as long as they are the same, so that it is quickly seen."""
        return self._ids

    @property
    def is_empty(self) -> bool:
        """Whether nobody asks for anything."""
        with self._lock:
            return not self._requests

    def __contains__(self, id: object) -> bool:
        return id in self._entries


def allowed(switches: Policy, catalogue: Catalogue) -> list[Entry]:
    """The fixes that switches allow.

    Raises:
        HotfixError: a fix is required and switched off.
    """
    on = []
    for entry in catalogue.entries.values():
        reason = switches.disabled(entry.id, entry.kind, entry.optin, entry.group)
        if reason and switches.requires(entry.id):
            raise HotfixError(f"HOTFIX_REQUIRE={entry.id}, but it is switched off: {reason}")
        if not reason:
            on.append(entry)
    return on
