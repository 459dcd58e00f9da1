"""The bugs that the files of a checkpoint show, for ``hotfix check-model``.

`rules` has a function for each fix with such a rule, under the name of the fix. `_checkpoint` has the data that rules
take.
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
    """The results of the rule of a fix, each with the id of that fix, which converts the files for the release.

    Args:
        id: id of the fix.
        checkpoint: the checkpoint.
        version: the release.
        release: the source of the release that reads configurations.
    """
    return (replace(misreading, fixes=(id,)) for misreading in by_fix()[id](checkpoint, version, release))
