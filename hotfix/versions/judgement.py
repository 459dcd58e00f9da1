"""What is said of a target: broken, good, or unknown, and why. `hotfix.versions.verdict` finds it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Verdict(str, Enum):
    """What the source of a target is, compared with the evidence."""

    BROKEN = "broken"  #: known to be broken
    FIXED = "fixed"  #: known to be good
    ABSENT = "absent"  #: this release has no such target
    UNAFFECTED = "unaffected"  #: the bug needs another package, in a version that is not here
    UNKNOWN = "unknown"  #: nobody has seen this source
    FOREIGN = "foreign"  #: somebody else has replaced the target


class Judgement(NamedTuple):
    """What was found of one target.

    Attributes:
        verdict: the verdict.
        reason: why, in a sentence or two.
        source: digest of what was judged; empty where there was no source.
        harmless: whether nothing in the source looks broken, so that an unknown source is no news.
    """

    verdict: Verdict
    reason: str
    source: str = ""
    harmless: bool = False
