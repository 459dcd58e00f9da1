"""Tests check the facts in a text that a user reads, not its sentences."""

from __future__ import annotations

from typing import Optional


def lacking(text: Optional[str], *facts: str) -> list[str]:
    """The facts that a text does not state.

    Args:
        text: a message, a line or a whole report; None states nothing.
        facts: an id, a release, a path, a number, or up to three words of a phrase.

    Returns:
        The facts that are missing, and then the text; nothing if the text has them all.
    """
    missing = [fact for fact in facts if fact not in (text or "")]
    return [*missing, text or ""] if missing else []
