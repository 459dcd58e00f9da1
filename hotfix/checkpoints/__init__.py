"""What the files of a checkpoint show of a bug: a module for each fix that has such a rule, under the name of its cure.

Each defines ``misreadings``, which takes the checkpoint and the release and yields what that release would misread or
refuse without the fix. It is asked for releases alone in which the fix has targets that are broken, so that it names a
release only where files tell less than the fix. ``hotfix check-model`` loads all of them; nothing else does. No library
is imported, and nothing is read but what `_checkpoint.Checkpoint` has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from packaging.version import Version

from .._support.memo import memo
from ..loading.forms import Release
from ._checkpoint import Checkpoint, Misreading

Rule = Callable[[Checkpoint, Version, Release], Iterator[Misreading]]


@memo
def rules() -> Mapping[str, Rule]:
    """The rules by id of the fix."""
    names = (info.name for info in iter_modules(__path__) if not info.name.startswith("_"))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").misreadings for name in names}


def of_fix(id: str, checkpoint: Checkpoint, version: Version, release: Release) -> Iterator[Misreading]:
    """What the rule of a fix finds, each with the fix that brings it into the form of the release.

    Args:
        id: of the fix.
        checkpoint: what was read.
        version: the release.
        release: its source, as far as configurations go.
    """
    return (replace(one, fixes=(id,)) for one in rules()[id](checkpoint, version, release))
