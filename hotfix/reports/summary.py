"""One line at the end of a process: the repairs made, and the removed names received."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Callable

from ..engine import job
from ..versions import installed
from . import restored

if TYPE_CHECKING:
    from ..engine.ledger import Ledger
    from ..engine.log import Log
    from ..patching.restoring import Received


class LineAtExit:
    """Writes the line, once, on the first rank; the children of the process write nothing.

    It is written at the end because modules are repaired at import, so only then are the numbers final.

    Args:
        log: writes it.
        ledger: has the fixes that were installed, and those that were removed again.
        names: returns the names that were received, by ``module:qualname``.
        replaced: returns the fixes of which nothing is in place any more, because other code has replaced it.
    """

    def __init__(
        self,
        log: Log,
        ledger: Ledger,
        names: Callable[[], Mapping[str, Received]],
        replaced: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        self._log = log
        self._ledger = ledger
        self._names = names
        self._replaced = replaced
        self._process = 0

    def expect(self) -> None:
        """Write the line at exit, since there is something to report."""
        if not self._process:
            self._process = os.getpid()
            atexit.register(self._write)

    def _write(self) -> None:
        parent = getattr(sys.modules.get("multiprocessing"), "parent_process", None)
        is_child = os.getpid() != self._process or (parent is not None and parent() is not None)
        if is_child or job.rank() not in (None, 0):
            return
        repaired, reverted = self._ledger.repaired, self._ledger.reverted
        replaced = self._replaced()
        in_place = {fix: which for fix, which in repaired.items() if fix not in reverted and fix not in replaced}
        line = sentence(in_place, self._names(), self._log.details - len(repaired), len(reverted), len(replaced))
        if line:
            self._log.notice(line)


def sentence(
    repaired: Mapping[str, tuple[str, str]],
    names: Mapping[str, Received],
    messages: int = 0,
    reverted: int = 0,
    replaced: int = 0,
) -> str:
    """The line; empty if there is nothing to report.

    Args:
        repaired: fixes that are in place, with their package and kind of bug.
        names: the names that were received, by ``module:qualname``.
        messages: how many other messages ``HOTFIX_LOG=info`` shows, such as those about converted files.
        reverted: how many fixes were removed again.
        replaced: how many were replaced by other code.
    """
    parts = []
    packages = [package for package, _ in repaired.values()]
    if packages:
        counted = [
            f"{_repairs(packages.count(package), first=not number)} for {_with_version(package)}"
            for number, package in enumerate(sorted(set(packages), key=packages.count, reverse=True))
        ]
        silent = sum(kind == "silent" for _, kind in repaired.values())
        parts.append(", ".join([*counted, *([f"{silent} of silent bugs"] if silent else [])]))
    if reverted:
        parts.append(f"{_repairs(reverted, first=True)} reverted")
    if replaced:
        parts.append(f"{_repairs(replaced, first=True)} replaced by other code, see hotfix.report()")
    if names:
        parts.append(restored.sentence(names))
    if messages > 0:
        parts.append(f"HOTFIX_LOG=info shows {messages} message{'s' * (messages > 1)} about files that were converted")
    if repaired or names or messages > 0:
        parts.append("see hotfix status")
    return "; ".join(parts)


def _repairs(count: int, first: bool) -> str:
    return f"{count} repair{'s' * (count > 1)}" if first else str(count)


def _with_version(package: str) -> str:
    release = installed.version(package)
    return f"{package} {release}" if release else package
