"""Find a bug by the error message that somebody saw.

A message in the wild has other numbers, names and paths than the one that is known, and is cut off at either end. So
words are compared, in order: what counts is how much of the shorter of the two is in the longer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bugs import Bug

_ENOUGH = 0.7  # of the words of the shorter one
_FEWEST = 3  # words in common, without which nothing is said
_LINES = 200
_WORD = re.compile(r"[a-z_][a-z0-9_]+", re.I)


@dataclass(frozen=True)
class Match:
    """A bug, and how well the message fits: 1 where all the words of the shorter one are in the longer."""

    bug: Bug
    score: float
    length: int


def search(text: str) -> list[Match]:
    """The bugs that a message or a traceback may come from, the best first.

    Args:
        text: the message, or the output of a program that ends with it.
    """
    from . import bugs

    lines = [line for line in text.splitlines() if line.strip()][-_LINES:]
    errors = [line for line in lines if re.match(r"\s*[\w.]*(Error|Exception|Warning)\b", line)] or lines
    queries = [_words(line) for line in errors]
    found = []
    for bug in bugs.known().values():
        wanted = [_words(one) for one in _messages(bug.error)]
        matches = [_compare(bug, query, one) for query in queries for one in wanted]
        matches = [match for match in matches if match.score >= _ENOUGH and match.length >= _FEWEST]
        if matches:
            best = max(matches, key=lambda match: (match.score, match.length))
            named = any(where.rpartition(":")[2].rpartition(".")[2] in text for where in bug.where)
            found.append(Match(bug, min(1.0, best.score + 0.1 * named), best.length))
    return sorted(found, key=lambda match: (-match.length * match.score, not match.bug.repaired))


def _messages(text: str) -> list[str]:
    """The messages in a symptom: what is quoted as code if anything is, else the whole text."""
    return re.findall(r"``([^`]*?:.*?)``", text) or [text]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _compare(bug: Bug, one: Sequence[str], other: Sequence[str]) -> Match:
    shorter = min(len(one), len(other))
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    common = sum(block.size for block in blocks if block.size > 1)  # single words are in every message
    return Match(bug, common / shorter if shorter else 0.0, common)
