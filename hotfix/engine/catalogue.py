"""The fixes, and which of them have targets in a module.

A fix has a module of its own (`hotfix.models` and its siblings), which is imported only when a module with one of its
targets is. The index (`hotfix.engine.index`) has the facts that are needed before.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Callable, Optional

from .._support.words import covers
from ..versions import installed, ranges
from . import plugins
from .entry import Entry
from .index import Index

__all__ = ["INDEX", "Catalogue", "Entry"]

INDEX = Path(installed.__file__).parent / "evidence" / "index.json"


class Catalogue:
    """Every fix, by id: those of hotfix and those of plugins.

    Args:
        warn: takes a sentence for each plugin that cannot be used.
        entries: the fixes, instead of those in the index and in plugins.
    """

    def __init__(self, warn: Callable[[str], None], entries: Optional[Iterable[Entry]] = None) -> None:
        self._warn = warn
        self._others = None if entries is None else {entry.id: entry for entry in entries}
        self._has_own = entries is None
        self._known_good: dict[tuple[str, str], bool] = {}
        self._are_examined: dict[str, bool] = {}
        self._aiming: dict[str, list[Entry]] = {}
        self._made: dict[str, Entry] = {}
        self._read: Optional[Index] = None
        self._modules: Optional[dict[str, list[str]]] = None
        self._aims: Optional[tuple[Collection[str], Collection[str]]] = None

    # Cached values are computed without a lock, at worst twice: computing them imports plugins, and another thread may
    # hold the import lock of one of their modules while it waits for us.

    @property
    def entries(self) -> Mapping[str, Entry]:
        """All fixes by id; `entry` creates only one."""
        return {id: self.entry(id) for id in self.ids}

    def entry(self, id: str) -> Entry:
        """One fix.

        Raises:
            KeyError: there is none.
        """
        if id in self._of_plugins:
            return self._of_plugins[id]
        if id not in self._made:
            self._made[id] = Entry(id, **self._index.facts(id))
        return self._made[id]

    @property
    def ids(self) -> Collection[str]:
        """The ids of the fixes."""
        return [*(self._index.kinds if self._has_own else ()), *self._of_plugins]

    @property
    def classes(self) -> Iterator[tuple[str, str, bool, str]]:
        """The properties of each fix that switches use: id, kind, whether it is off by default, and group."""
        if self._has_own:
            optin, groups = self._index.optin, self._index.groups
            for id, kind in self._index.kinds.items():
                yield id, kind, id in optin, groups.get(id, "")
        for entry in self._of_plugins.values():
            yield entry.id, entry.kind, entry.optin, entry.group

    @property
    def groups(self) -> set[str]:
        """The names that select several fixes in a switch."""
        return {group for *_, group in self.classes if group}

    def check(self) -> None:
        """Compare the index with its digest.

        Raises:
            ValueError: it differs from the released index.
        """
        if self._has_own:
            self._index.check()

    @property
    def modules(self) -> Collection[str]:
        """The modules that targets name without a pattern."""
        return self._names_and_patterns[0]

    @property
    def patterns(self) -> Collection[str]:
        """The patterns that targets name instead of a module."""
        return self._names_and_patterns[1]

    def examined(self, package: str = "transformers") -> tuple[str, ...]:
        """The releases of a package that the sweep has examined, oldest first."""
        return tuple(self._index.examined.get(package, ()))

    def aiming_at(self, module: str) -> list[Entry]:
        """The fixes that have a target in a module of this name."""
        if module not in self._aiming:
            ids: set[str] = set()
            for name in (module, *(pattern for pattern in self._names_and_patterns[1] if covers(pattern, module))):
                ids.update(self._index.aiming_at(name) if self._has_own else ())
                ids.update(self._of_plugins_by_module.get(name, ()))
            own = sorted(ids - self._of_plugins.keys())
            self._aiming[module] = [self.entry(id) for id in (*own, *(id for id in self._of_plugins if id in ids))]
        return self._aiming[module]

    def is_known_good(self, module: str, *releases: str) -> bool:
        """Whether a module is unchanged and belongs to an examined release that is not among the broken ones.

        The source decides for development versions, local versions, releases newer than the sweep, and files that may
        have changed since the installation.

        Args:
            module: name of the module.
            releases: the broken releases of each fix in question, as specifiers.
        """
        package = module.partition(".")[0]
        for broken in releases:
            key = package, broken
            if key not in self._known_good:  # many targets have one range
                self._known_good[key] = self._is_good_release(*key)
            if not self._known_good[key]:
                return False
        return not _is_older(module) and installed.is_as_released(module)

    def is_as_examined(self, module: str) -> bool:
        """Whether a module is unchanged and belongs to an examined release."""
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
        """Whether a package is installed completely, in an examined release."""
        spec = installed.find_spec(package)
        if spec is None or spec.origin is None:  # an interrupted installation leaves folders behind
            return False
        return str(installed.version(package)) in self.examined(package)

    @property
    def _names_and_patterns(self) -> tuple[Collection[str], Collection[str]]:
        if self._aims is None:
            aims = {*(self._index.modules if self._has_own else ()), *self._of_plugins_by_module}
            patterns = {name for name in aims if "*" in name}
            self._aims = aims - patterns, patterns
        return self._aims

    @property
    def _of_plugins_by_module(self) -> Mapping[str, list[str]]:
        """The ids of the plugins' fixes by name or pattern of the module."""
        if self._modules is None:
            ids: dict[str, list[str]] = {}
            for entry in self._of_plugins.values():
                for module in {key.partition(":")[0] for key in entry.targets}:
                    ids.setdefault(module, []).append(entry.id)
            self._modules = ids
        return self._modules

    @property
    def _of_plugins(self) -> Mapping[str, Entry]:
        if self._others is None:
            self._others = plugins.entries(self._warn)
        return self._others

    @property
    def _index(self) -> Index:
        if self._read is None:
            self._read = Index(INDEX)
        return self._read


def _is_older(module: str) -> bool:
    """Whether a module was imported from another release of its package than the installed one."""
    package = sys.modules.get(module.partition(".")[0]) if module in sys.modules else None
    if package is None:
        return False
    release = getattr(package, "__version__", None)
    return release is not None and str(release) != str(installed.version(package.__name__))
