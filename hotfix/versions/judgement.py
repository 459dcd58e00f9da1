"""The judgement of a target: broken, fixed or unknown, and why. `hotfix.versions.verdict` makes it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Verdict(str, Enum):
    """The result of comparing the source of a target with the evidence."""

    BROKEN = "broken"  #: known to be broken
    FIXED = "fixed"  #: known to be right
    ABSENT = "absent"  #: this release has no such target
    UNAFFECTED = "unaffected"  #: the bug needs another package, in a version that is not installed
    UNKNOWN = "unknown"  #: nobody has examined this source
    FOREIGN = "foreign"  #: other code has replaced the target


class Judgement(NamedTuple):
    """The judgement of one target.

    Attributes:
        verdict: the verdict.
        reason: the reason, in a sentence or two.
        source: digest of the judged source; empty if there was none.
        harmless: whether nothing in the source looks broken; then an unknown source is not reported.
    """

    verdict: Verdict
    reason: str
    source: str = ""
    harmless: bool = False
