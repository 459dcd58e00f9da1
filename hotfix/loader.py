"""A loader that wraps another one until its module is executed; `hotfix.watch` installs it.

It has its own file because most processes never import a watched package, and because defining a class costs a bare
interpreter more, at exit too, than the rest of the watcher.
"""

from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable


class Loader:
    """Behaves like the wrapped loader, and reports when the module is executed.

    Args:
        loader: the wrapped loader.
        before: called with the name of the module just before it is executed.
        after: called with the name of the module once it has been executed.
    """

    def __init__(self, loader: Any, before: Callable[[str], None], after: Callable[[str], None]) -> None:
        self._loader = loader
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # a copy that has no attributes yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    @property  # type: ignore[misc]  # of `object`, it can be assigned
    def __class__(self) -> Any:
        """The class of the wrapped loader, so that ``isinstance`` gives the same answers as without hotfix."""
        return type(self._loader)

    def __repr__(self) -> str:
        return repr(self._loader)

    def __copy__(self) -> Any:
        return Loader(self._loader, self._before, self._after)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the wrapped loader: the other process may have no hotfix."""
        return self._loader.__reduce_ex__(protocol)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with its own loader."""
        spec: Any = module.__spec__
        spec.loader = self._loader
        with suppress(AttributeError):  # as the import system does: a module may refuse attributes
            module.__loader__ = self._loader
        self._before(spec.name)
        self._loader.exec_module(module)
        self._after(spec.name)


def wrap(spec: ModuleSpec, before: Callable[[str], None], after: Callable[[str], None]) -> None:
    """Wrap the loader in a spec with ours, unless it cannot be wrapped or already is."""
    if hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, Loader):
        spec.loader = Loader(spec.loader, before, after)  # type: ignore[assignment]  # it behaves like that loader
