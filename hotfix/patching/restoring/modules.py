"""Removed modules, for ``import`` statements that would fail."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Optional

from .need import would_end
from .receipts import forget, note

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


class _Given:
    """Loads a module that exists already."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: it was executed when it was made."""


_Find = Callable[[str], Optional[types.ModuleType]]


class Modules:
    """The finder for removed modules."""

    def __init__(self) -> None:
        self._modules: dict[str, tuple[types.ModuleType, str]] = {}  # each with its fix
        self._others: dict[_Find, str] = {}
        self._given: dict[str, _Find] = {}

    def put(self, name: str, module: types.ModuleType, fix: str = "") -> None:
        """Register a module for imports that would fail."""
        self._modules[name] = module, fix
        self._attach()

    def listen(self, find: _Find, fix: str) -> None:
        """Register a function that returns the module of a name, or None; `fix` is its fix id."""
        self._others[find] = fix
        self._attach()

    def unlisten(self, find: _Find) -> None:
        """Undo `listen`, and remove the modules that the program received from it."""
        self._others.pop(find, None)
        for name, given in list(self._given.items()):
            if given == find:
                del self._given[name]
                forget(":".join(name.rpartition(".")[::2]))
                self._drop(name, sys.modules.get(name))
        self._detach_if_empty()

    def known(self, name: str) -> Optional[types.ModuleType]:
        """The registered module of this name, or None."""
        return self._modules.get(name, (None, ""))[0]

    def take(self, name: str) -> None:
        """Forget a module, and remove it from `sys.modules` and its package."""
        self._drop(name, self._modules.pop(name, (None, ""))[0])
        self._detach_if_empty()

    def _attach(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def _detach_if_empty(self) -> None:
        if not self._modules and not self._others and self in sys.meta_path:
            sys.meta_path.remove(self)

    def _drop(self, name: str, module: Optional[types.ModuleType]) -> None:
        package, _, last = name.rpartition(".")
        if module is not None and sys.modules.get(name) is module:
            del sys.modules[name]
        if module is not None and vars(sys.modules.get(package, module)).get(last) is module:
            delattr(sys.modules[package], last)

    def _module_of(self, name: str) -> tuple[Optional[types.ModuleType], str, Optional[_Find]]:
        """The removed module of this name, its fix, and the function that returned it; a registered one has none."""
        if name in self._modules:
            return (*self._modules[name], None)
        for find, fix in self._others.items():
            module = find(name)
            if module is not None:
                return module, fix, find
        return None, "", None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """The spec of the module, if the program would fail without it."""
        module, fix, find = self._module_of(name)
        if module is None:
            return None
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__") == "hotfix.watch" and frame.f_back is not None:
            frame = frame.f_back
        later = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else []
        for finder in later:  # the program has added it since
            spec: Optional[ModuleSpec] = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        if not would_end(ModuleNotFoundError, frame):
            return None
        package, _, last = name.rpartition(".")
        note(f"{package}:{last}", fix, frame)
        if find is not None:
            self._given[name] = find
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _Given(module), origin="hotfix")  # type: ignore[arg-type]  # it has the methods of a loader


MODULES = Modules()
