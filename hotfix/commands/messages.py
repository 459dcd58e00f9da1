"""Find a bug by the error message that somebody saw.

A message in the wild has other numbers, names and paths than the one that is known, and is cut off at either end. So
words are compared, in order: what counts is how much of the shorter of the two is in the longer. A word that many known
messages have ("object has no attribute") says less than one that few have.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bugs import Bug

_ENOUGH = 0.6  # of the weight of the shorter one
_FEWEST = 3  # words in common, without which nothing is said
_LINES = 200
_WORD = re.compile(r"[a-z_][a-z0-9_]+", re.I)


@dataclass(frozen=True)
class Match:
    """A bug, and how well the message fits: 1 where the whole of the shorter one is in the longer.

    Attributes:
        bug: the bug.
        score: from 0 to 1.
        weight: of the words in common.
    """

    bug: Bug
    score: float
    weight: float


def search(text: str) -> list[Match]:
    """The bugs that a message or a traceback may come from, the best first.

    Args:
        text: the message, or the output of a program that ends with it.
    """
    from . import bugs

    lines = [line for line in text.splitlines() if line.strip()][-_LINES:]
    errors = [line for line in lines if re.match(r"\s*[\w.]*(Error|Exception|Warning)\b", line)] or lines
    queries = [_words(line) for line in errors]
    known = {bug: [_words(one) for one in _messages(bug.error)] for bug in bugs.known().values() if bug.error}
    count = Counter(word for messages in known.values() for word in set().union(*messages))
    weigh = partial(_weight, count, len(known))
    found = []
    for bug, messages in known.items():
        best = max((_compare(bug, query, one, weigh) for query in queries for one in messages), key=_value)
        if best.score >= _ENOUGH:
            found.append(best)
    return sorted(found, key=_value, reverse=True)


def _value(match: Match) -> float:
    return match.score * match.weight


def _messages(text: str) -> list[str]:
    """The messages in a symptom: what is quoted as code if anything is, else the whole text."""
    return re.findall(r"``([^`]*?:.*?)``", text) or [text]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _weight(count: Mapping[str, int], messages: int, word: str) -> float:
    return math.log((messages + 1) / (count.get(word, 0) or 1))


def _compare(bug: Bug, one: Sequence[str], other: Sequence[str], weigh: Callable[[str], float]) -> Match:
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    common = [word for block in blocks if block.size > 1 for word in one[block.a : block.a + block.size]]
    weight = sum(map(weigh, common))
    shorter = min(sum(map(weigh, one)), sum(map(weigh, other)))
    enough = len(common) >= min(_FEWEST, len(one), len(other)) and shorter > 0
    return Match(bug, weight / shorter if enough else 0.0, weight)
