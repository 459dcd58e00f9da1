"""The names that a process has received because it would have ended without them, in one line at its end."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Callable

from ..engine import job
from ..versions import installed

if TYPE_CHECKING:
    from ..engine.log import Log
    from ..patching.asked import Received

_SHOWN = 3


def say_at_exit(log: Log, names: Callable[[], Mapping[str, Received]]) -> None:
    """At the end of this process, name on the first rank what it has received; its children say nothing.

    Args:
        log: says it.
        names: returns what was received, by ``module:qualname``.
    """
    atexit.register(_say, log, names, os.getpid())


def _say(log: Log, names: Callable[[], Mapping[str, Received]], pid: int) -> None:
    parent = getattr(sys.modules.get("multiprocessing"), "parent_process", None)
    is_child = os.getpid() != pid or (parent is not None and parent() is not None)
    received = names()
    if received and not is_child and job.rank() in (None, 0):
        log.log(logging.INFO, sentence(received))


def sentence(received: Mapping[str, Received]) -> str:
    """One sentence for all names.

    Args:
        received: what was received, by ``module:qualname``; at least one.
    """
    first = next(iter(received)).partition(".")[0].partition(":")[0]
    release = installed.version(first)
    shown = [f"{name.partition(':')[2]} for {one.place}" for name, one in list(received.items())[:_SHOWN]]
    more = ", \N{HORIZONTAL ELLIPSIS}" if len(received) > _SHOWN else ""
    names = "1 name" if len(received) == 1 else f"{len(received)} names"
    lacking = f"{first} {release}" if release else first
    return f"restored {names} that {lacking} does not have ({', '.join(shown)}{more}); see hotfix status"
