"""The names that a process has received because it would have failed without them, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..versions import installed

if TYPE_CHECKING:
    from ..patching.restoring import Received

_SHOWN = 3


def sentence(received: Mapping[str, Received]) -> str:
    """One sentence for all names.

    Args:
        received: the received names, by ``module:qualname``; at least one.
    """
    first = next(iter(received)).partition(".")[0].partition(":")[0]
    release = installed.version(first)
    shown = [f"{name.partition(':')[2]} for {receipt.place}" for name, receipt in list(received.items())[:_SHOWN]]
    more = ", \N{HORIZONTAL ELLIPSIS}" if len(received) > _SHOWN else ""
    names = "1 name" if len(received) == 1 else f"{len(received)} names"
    lacking = f"{first} {release}" if release else first
    return f"restored {names} that {lacking} does not have ({', '.join(shown)}{more})"
