"""Locks that a forked child can use, whoever held them in the parent."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Optional

_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A re-entrant lock. In a forked child it is free: the thread that held it is not there."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Be free."""
        self._lock = threading.RLock()


def _after_fork() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
