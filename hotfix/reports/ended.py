"""The line after the traceback of a process that ends with an error: the opt-in repair that prevents the error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.entry import Entry

_NAMED = 2
_SPECIFIC = (AttributeError, TypeError)


def sentence(error: BaseException, waiting: Iterable[Entry]) -> str:
    """The line; empty if no repair prevents the error.

    Args:
        error: the error that ended the process.
        waiting: the opt-in fixes that this release needs, and that are off.
    """
    ids = [entry.id for entry in waiting if any(_is_of(error, pattern) for pattern in entry.load().errors)]
    if not ids or not (_quotes_a_name(error) or _goes_through_the_library(error)):
        return ""
    named = " or ".join(ids[:_NAMED])
    return f"HOTFIX_OPTIN={ids[0]} can prevent this {type(error).__name__}; see hotfix explain {named}"


def _is_of(error: BaseException, pattern: str) -> bool:
    name, _, message = pattern.partition(":")
    kinds = {kind.__name__ for kind in type(error).__mro__}
    words = ".*".join(map(re.escape, message.strip().split("\N{HORIZONTAL ELLIPSIS}")))
    return name.rpartition(".")[2] in kinds and re.match(words, str(error)) is not None


def _quotes_a_name(error: BaseException) -> bool:
    """Whether the message names a class or function: others, such as a KeyError, may be of any code."""
    return isinstance(error, _SPECIFIC) and "NoneType" not in str(error)


def _goes_through_the_library(error: BaseException) -> bool:
    """Whether code of transformers, or remote code of a model, raised the error or called the code that did."""
    frames = error.__traceback__
    while frames is not None:
        module = str(frames.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] in ("transformers", "transformers_modules"):
            return True
        frames = frames.tb_next
    return False
