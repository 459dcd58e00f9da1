"""Locks that a forked child can use, whichever thread held them in the parent."""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from types import TracebackType
from typing import Optional

_PATIENCE = 2.0  # seconds that a fork waits for other threads
_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_numbers = itertools.count()
_taken = threading.local()


class Lock:
    """A re-entrant lock, which is free in a forked child.

    A fork waits until no other thread holds the lock, so that the child inherits no half-finished change; after
    `_PATIENCE` seconds it goes on anyway.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self._lock.release()

    def take(self, seconds: float) -> bool:
        """Acquire the lock, and return whether that worked within some seconds."""
        return self._lock.acquire(timeout=seconds)

    def renew(self) -> None:
        """Free the lock, whichever thread holds it."""
        self._lock = threading.RLock()


def _before_fork() -> None:
    until = time.monotonic() + _PATIENCE
    in_order = sorted(_locks, key=lambda lock: lock.number)
    _taken.locks = [lock for lock in in_order if lock.take(max(until - time.monotonic(), 0.0))]


def _after_fork_in_parent() -> None:
    for lock in reversed(_taken.__dict__.pop("locks", [])):
        lock.__exit__(None, None, None)


def _after_fork_in_child() -> None:
    _taken.__dict__.clear()
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
