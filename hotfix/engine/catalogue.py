"""Which fixes there are, and which of them aim at a module.

A fix lives in a module of its own (`hotfix.models` and its siblings) that is imported only when one of its targets
is. What must be known before that stands in ``versions/evidence/index.json``, which the sweep writes from the fixes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Callable, Optional

from ..versions import installed, ranges
from ..words import covers
from . import plugins
from .entry import Entry

__all__ = ["INDEX", "Catalogue", "Entry"]

INDEX = Path(installed.__file__).parent / "evidence" / "index.json"


class Catalogue:
    """Every fix, by id: those that hotfix brings, and those of plugins.

    Args:
        warn: takes a sentence for each plugin that cannot be used.
        entries: what there is, in place of the index and the plugins.
    """

    def __init__(self, warn: Callable[[str], None], entries: Optional[Iterable[Entry]] = None) -> None:
        self._warn = warn
        self._given = None if entries is None else {entry.id: entry for entry in entries}
        self._known_good: dict[tuple[str, str], bool] = {}
        self._are_examined: dict[str, bool] = {}
        self._aiming: dict[str, list[Entry]] = {}
        self._read: Optional[dict[str, Any]] = None
        self._modules: Optional[tuple[dict[str, list[str]], list[tuple[str, str]]]] = None

    # What is computed once is computed without a lock, twice at worst: plugins are imported on the way, and what they
    # import may be waiting for us in another thread.

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The fixes by id."""
        if self._given is None:
            own = {id: Entry(id=id, **entry) for id, entry in self._index["fixes"].items()}
            self._given = {**own, **plugins.entries(self._warn)}
        return self._given

    @property
    def groups(self) -> set[str]:
        """The names under which several opt-in fixes are asked for."""
        return {entry.group for entry in self.entries.values() if entry.group}

    def examined(self, package: str = "transformers") -> tuple[str, ...]:
        """The releases of a package that the sweep has examined, oldest first."""
        return tuple(self._index["examined"].get(package, ()))

    def aiming_at(self, module: str) -> list[Entry]:
        """The fixes that have a target in a module of this name."""
        if module not in self._aiming:
            exact, patterns = self._by_module
            entries, ids = self.entries, exact.get(module, [])
            others = {id for name, id in patterns if covers(name, module)}
            if others:
                ids = [id for id in entries if id in others or id in ids]
            self._aiming[module] = [entries[id] for id in ids]
        return self._aiming[module]

    def is_known_good(self, module: str, *releases: str) -> bool:
        """Whether a module is of an examined release that is none of the broken ones, and as it was released.

        A development version, a local version, a release that is newer than the sweep, and a file
        that its installer does not vouch for are not trusted to be what they are called: their source is looked at.

        Args:
            module: name of the module.
            releases: the broken ones of each fix that is asked about, as specifiers.
        """
        package = module.partition(".")[0]
        for one in releases:
            key = package, one
            if key not in self._known_good:  # many targets have one range
                self._known_good[key] = self._is_good_release(*key)
            if not self._known_good[key]:
                return False
        return not _is_older(module) and installed.is_as_released(module)

    def is_as_examined(self, module: str) -> bool:
        """Whether a module is of an examined release, and as it was released."""
        package = module.partition(".")[0]
        release = installed.version(package)
        examined = release is not None and str(release) in self.examined(package)
        return examined and not _is_older(module) and installed.is_as_released(module)

    # ------------------------------------------------------------------------------------------------------------------

    def _is_good_release(self, package: str, releases: str) -> bool:
        if package not in self._are_examined:
            self._are_examined[package] = self._is_examined(package)
        release = installed.version(package)
        if release is None or not releases or not self._are_examined[package]:
            return False
        return not ranges.contains(releases, release)

    def _is_examined(self, package: str) -> bool:
        """Whether a package is one of the examined releases, all of it."""
        spec = installed.find_spec(package)
        if spec is None or spec.origin is None:  # an installation that was interrupted leaves folders
            return False
        return str(installed.version(package)) in self.examined(package)

    @property
    def _by_module(self) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
        """The ids of the fixes by module, and the patterns with their ids."""
        if self._modules is not None:
            return self._modules
        exact: dict[str, list[str]] = {}
        patterns = []
        for entry in self.entries.values():
            for module in dict.fromkeys(key.partition(":")[0] for key in entry.targets):
                if "*" in module:
                    patterns.append((module, entry.id))
                else:
                    exact.setdefault(module, []).append(entry.id)
        self._modules = exact, patterns
        return self._modules

    @property
    def _index(self) -> dict[str, Any]:
        if self._read is None:
            try:
                self._read = json.loads(INDEX.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ValueError(f"{INDEX} cannot be read as the index of the fixes: {error}") from error
        return self._read


def _is_older(module: str) -> bool:
    """Whether a module was imported from another release of its package than the one that is installed now."""
    package = sys.modules.get(module.partition(".")[0]) if module in sys.modules else None
    if package is None:
        return False
    release = getattr(package, "__version__", None)
    return release is not None and str(release) != str(installed.version(package.__name__))
