"""The facts about a fix that are known before its module is imported."""

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
    """The facts about a fix in the index.

    Attributes:
        id, title, kind, optin, group, fixed_in: as in `Fix`.
        module: the module that defines it as ``FIX``.
        targets: the broken releases (a specifier, or an empty string) by ``module:qualname``.
        fix: the fix of a plugin, under its full name; it is imported anyway, because only it has its targets.
    """

    # Neither a dataclass nor a named tuple: creating such a class takes longer than all other work with it.

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
        """The broken releases of the targets in a module with exactly this name, by qualified name."""
        begin = f"{module}:"
        return {key[len(begin) :]: releases for key, releases in self.targets.items() if key.startswith(begin)}

    def load(self) -> Fix:
        """Import the module of the fix, and return the fix."""
        if self.fix is not None:
            return self.fix
        fix: Fix = import_module(self.module).FIX
        return fix


def concerns(targets: Mapping[str, str], release: Version, folders: Collection[str]) -> bool:
    """Whether a release of transformers has a bug for a model.

    A bug in the files of models concerns only these models, even if the fix changes other files, too. A bug only in
    shared modules may concern every model.

    Args:
        targets: the broken releases (a specifier, or an empty string) by ``module:qualname``, as in `Entry`.
        release: the release.
        folders: the folders of the model and of its parts, in ``transformers.models``.
    """
    broken = [
        key for key, releases in targets.items() if releases and ranges.contains(releases, release, prereleases=True)
    ]
    of_models = {folder_of(key.partition(":")[0]) for key in broken if key.startswith(_MODELS)}
    if of_models:
        return not of_models.isdisjoint(folders)
    return any(key.startswith("transformers.") for key in broken)


def folder_of(module: str) -> str:
    """``llama`` for ``transformers.models.llama.modeling_llama``; some models are one level deeper."""
    return module.split(".")[-2]
