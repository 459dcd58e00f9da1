"""What the files of a checkpoint show of the bugs that hotfix repairs, asked by ``hotfix check-model`` alone.

`rules` has a function for each fix that has such a rule, under the name of the fix; `_checkpoint` is what they look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from packaging.version import Version

from .._support.memo import memo
from ..loading.forms import Release
from . import rules as of_files
from ._checkpoint import Checkpoint, Misreading

Rule = Callable[[Checkpoint, Version, Release], Iterator[Misreading]]


@memo
def by_fix() -> Mapping[str, Rule]:
    """The rules by id of the fix."""
    rules = (pair for pair in vars(of_files).items() if getattr(pair[1], "__module__", "") == of_files.__name__)
    return {name.replace("_", "-"): rule for name, rule in rules if not name.startswith("_")}


def of_fix(id: str, checkpoint: Checkpoint, version: Version, release: Release) -> Iterator[Misreading]:
    """What the rule of a fix finds, each with the fix that brings it into the form of the release.

    Args:
        id: of the fix.
        checkpoint: what was read.
        version: the release.
        release: its source, as far as configurations go.
    """
    return (replace(misreading, fixes=(id,)) for misreading in by_fix()[id](checkpoint, version, release))
