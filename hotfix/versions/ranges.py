"""Whether a release lies in a range, for instance ``>=4.47.0,<=4.48.0,!=4.47.1``.

`packaging.specifiers` says it of every release and every range, but importing it takes half as long as importing all of
hotfix, and this is asked whenever transformers is imported. So what is simple is done here: a final release, and
comparisons with final releases, which is what the evidence consists of. All else goes to packaging.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Callable, Optional

from ..memo import memo

if TYPE_CHECKING:
    from packaging.version import Version

_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|<|>)\s*([0-9]+(?:\.[0-9]+)*)\s*")
_COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def contains(releases: str, release: Version, prereleases: Optional[bool] = None) -> bool:
    """Whether a release lies in a range.

    Args:
        releases: the range, as a specifier of PEP 440.
        release: the release.
        prereleases: whether pre-releases are counted in, as `packaging.specifiers.SpecifierSet.contains` has it.
    """
    clauses = [_read(clause) for clause in releases.split(",")]
    is_final = not (release.is_prerelease or release.is_postrelease or release.local)
    if is_final and all(clauses):
        return all(compare(release, bound) for compare, bound in filter(None, clauses))
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(releases).contains(release, prereleases)


@memo
def _read(clause: str) -> Optional[tuple[Callable[[Version, Version], bool], Version]]:
    """How a release has to compare with which one; None if the clause is not that simple."""
    from packaging.version import Version

    found = _CLAUSE.fullmatch(clause)
    return (_COMPARISONS[found[1]], Version(found[2])) if found else None
