"""What is known of a fix before its module is imported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Optional

from ..versions import ranges

if TYPE_CHECKING:
    from packaging.version import Version

    from ..fix import Fix

_MODELS = "transformers.models."


class Entry:
    """What the index knows of a fix without importing its module.

    Attributes:
        id, title, kind, optin, group, fixed_in: as in `Fix`.
        module: the module that defines it as ``FIX``.
        targets: the broken releases (a specifier, or an empty string) by ``module:qualname``.
        fix: that of a plugin, under its full name: only it can say what it aims at, so that it is at hand.
    """

    # Neither a dataclass nor a named tuple: to make such a class takes longer than all else that is done with it.

    def __init__(
        self,
        id: str,
        title: str,
        kind: str,
        module: str,
        optin: bool,
        group: str,
        fixed_in: str,
        targets: Mapping[str, str],
        fix: Optional[Fix] = None,
    ) -> None:
        self.id = id
        self.title = title
        self.kind = kind
        self.module = module
        self.optin = optin
        self.group = group
        self.fixed_in = fixed_in
        self.targets = targets
        self.fix = fix

    def in_module(self, module: str) -> dict[str, str]:
        """The broken releases by qualified name, of the targets in a module of just this name."""
        begin = f"{module}:"
        return {key[len(begin) :]: releases for key, releases in self.targets.items() if key.startswith(begin)}

    def load(self) -> Fix:
        """The fix; its module is imported for it."""
        if self.fix is not None:
            return self.fix
        fix: Fix = import_module(self.module).FIX
        return fix


def concerns(targets: Mapping[str, str], release: Version, folders: Collection[str]) -> bool:
    """Whether a release of transformers has a bug for a model.

    A bug in the files of models is one for these models alone, whatever else has to be changed with it. One that is in
    shared modules alone may be one for every model.

    Args:
        targets: the broken releases (a specifier, or an empty string) by ``module:qualname``, as in `Entry`.
        release: the release.
        folders: of the model and of its parts, in ``transformers.models``.
    """
    broken = [
        key for key, releases in targets.items() if releases and ranges.contains(releases, release, prereleases=True)
    ]
    of_models = {folder_of(key.partition(":")[0]) for key in broken if key.startswith(_MODELS)}
    if of_models:
        return not of_models.isdisjoint(folders)
    return any(key.startswith("transformers.") for key in broken)


def folder_of(module: str) -> str:
    """``llama`` of ``transformers.models.llama.modeling_llama``; some models are a level further down."""
    return module.split(".")[-2]
