"""The fixes that are on in a process: the union of all requests."""

from __future__ import annotations

from collections.abc import Iterable

from .._support.locks import Lock
from ..errors import HotfixError
from .catalogue import Catalogue
from .policy import Policy


class Request:
    """The fixes that one caller has requested; they stay on until the request is released.

    Attributes:
        ids: the fixes.
        added: the fixes that were not on before.
    """

    def __init__(self, ids: Iterable[str], added: Iterable[str]) -> None:
        self.ids = frozenset(ids)
        self.added = tuple(added)


class Selection:
    """The ids of the fixes that are on: each as long as a request has it."""

    def __init__(self) -> None:
        self._requests: list[Request] = []
        self._ids: frozenset[str] = frozenset()
        self._lock = Lock()

    def request(self, ids: Iterable[str]) -> Request:
        """Switch fixes on."""
        with self._lock:
            ids = list(ids)
            request = Request(ids, (id for id in ids if id not in self._ids))
            self._requests.append(request)
            self._ids = self._ids | request.ids if request.added else self._ids
            return request

    def release(self, request: Request) -> set[str]:
        """Take a request back. Returns the fixes that no other request has; a second call returns none."""
        with self._lock:
            if request not in self._requests:
                return set()
            self._requests.remove(request)
            gone = set(request.ids.difference(*(request.ids for request in self._requests)))
            self._ids = self._ids - gone if gone else self._ids
            return gone

    def clear(self) -> None:
        """Take all requests back."""
        with self._lock:
            self._requests.clear()
            self._ids = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """The fixes that are on: the same object as long as they do not change, so that callers can compare quickly."""
        return self._ids

    @property
    def is_empty(self) -> bool:
        """Whether there are no requests."""
        with self._lock:
            return not self._requests

    def __contains__(self, id: object) -> bool:
        return id in self._ids


def allowed(switches: Policy, catalogue: Catalogue) -> list[str]:
    """The ids of the fixes that switches allow.

    Raises:
        HotfixError: a required fix is switched off.
    """
    on = []
    for id, kind, optin, group in catalogue.classes:
        reason = switches.disabled(id, kind, optin, group)
        if not reason:
            on.append(id)
        elif switches.requires(id):
            raise HotfixError(f"HOTFIX_REQUIRE={id}, but this fix is switched off: {reason}")
    return on
