"""Whether a release lies in a range, for instance ``>=4.47.0,<=4.48.0,!=4.47.1``.

`packaging.specifiers` decides it for every release and every range, but importing it takes half as long as importing
all of hotfix, and every import of transformers needs an answer. So this module handles the simple case: a final release
and comparisons with final releases, as in the evidence. The rest goes to packaging.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Callable, Optional

from .._support.memo import memo

if TYPE_CHECKING:
    from packaging.version import Version

_Numbers = tuple[int, ...]
_COMPARISONS: dict[str, Callable[[_Numbers, _Numbers], bool]] = {
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
        prereleases: whether pre-releases count, as in `packaging.specifiers.SpecifierSet.contains`.
    """
    bounds = _bounds(releases)
    is_final = not (release.is_prerelease or release.is_postrelease or release.local or release.epoch)
    if is_final and bounds is not None:
        numbers = _without_zeros(release.release)
        return all(compare(numbers, bound) for compare, bound in bounds)
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(releases).contains(release, prereleases)


@memo
def _bounds(releases: str) -> Optional[list[tuple[Callable[[_Numbers, _Numbers], bool], _Numbers]]]:
    """The comparisons that a final release must pass; None if the range is not that simple."""
    bounds = []
    for clause in map(str.strip, releases.split(",")):
        sign = clause[:2] if clause[:2] in _COMPARISONS else clause[:1]
        parts = clause[len(sign) :].strip().split(".")
        if sign not in _COMPARISONS or not all(part.isascii() and part.isdigit() for part in parts):
            return None
        bounds.append((_COMPARISONS[sign], _without_zeros([int(part) for part in parts])))
    return bounds


def _without_zeros(numbers: Sequence[int]) -> _Numbers:
    """4.48 for 4.48.0, which is the same release."""
    end = len(numbers)
    while end and not numbers[end - 1]:
        end -= 1
    return tuple(numbers[:end])
