"""The loader that stands for another one until its module is executed; see `hotfix.watch`, which puts it in place.

A file of its own because most processes never import a watched package: a class costs a bare interpreter more, at its
exit too, than all the rest of the watcher.
"""

from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from . import watch


class Loader:
    """Answers as the other loader would, and tells the line when the module is executed."""

    def __init__(self, loader: Any, watcher: watch.Watcher) -> None:
        self._loader = loader
        self._watcher = watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module by its own loader, and tell the line."""
        spec: Any = module.__spec__
        name = spec.name
        module.__loader__ = spec.loader = self._loader
        # A handle may have been reverted between the search and the execution: then this is an ordinary import.
        armed = watch.armed(self._watcher)
        if armed and name in watch.ROOTS:
            self._watcher.names.update(watch.tell("root_imported", name))
        self._loader.exec_module(module)
        if armed and name not in watch.ROOTS:
            watch.tell("module_imported", name)


def wrap(spec: ModuleSpec, watcher: watch.Watcher) -> None:
    """Put our loader around the one in a spec, unless that cannot be or was done before."""
    if hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, Loader):
        spec.loader = Loader(spec.loader, watcher)  # type: ignore[assignment]  # it answers as that loader
