"""The loader that stands for another one until its module is executed; see `hotfix.watch`, which puts it in place.

A file of its own because most processes never import a watched package: a class costs a bare interpreter more, at its
exit too, than all the rest of the watcher.
"""

from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable


class Loader:
    """Answers as the other loader would, and tells when the module is executed.

    Args:
        loader: the other one.
        before: called with the name of the module when it is about to be executed.
        after: called with it when it was.
    """

    def __init__(self, loader: Any, before: Callable[[str], None], after: Callable[[str], None]) -> None:
        self._loader = loader
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # of a copy that has no attributes yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module by its own loader."""
        spec: Any = module.__spec__
        module.__loader__ = spec.loader = self._loader
        self._before(spec.name)
        self._loader.exec_module(module)
        self._after(spec.name)


def wrap(spec: ModuleSpec, before: Callable[[str], None], after: Callable[[str], None]) -> None:
    """Put our loader around the one in a spec, unless that cannot be or was done before."""
    if hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, Loader):
        spec.loader = Loader(spec.loader, before, after)  # type: ignore[assignment]  # it answers as that loader
