"""Modules that replace removed ones and look up their names on first use."""

from __future__ import annotations

from collections.abc import Collection
from types import ModuleType
from typing import Any, Callable


def given_back(name: str, names: Collection[str], instead: str, find: Callable[[str], Any]) -> ModuleType:
    """A module that is empty before first use, when it warns.

    Args:
        name: its full name.
        names: the names in it.
        instead: the module to import from, for the warning.
        find: takes a name, and returns the object.
    """
    from importlib.machinery import ModuleSpec

    module = ModuleType(name, f"Given back by hotfix; {instead} has what it had.")
    module.__spec__ = ModuleSpec(name, None, origin="hotfix")
    module.__package__ = name.rpartition(".")[0]

    def ask(asked: str) -> Any:
        if asked not in names:
            raise AttributeError(f"module {name!r} has no attribute {asked!r}")
        import warnings

        warnings.warn(
            f"{name} is gone from this release and given back by hotfix: import from {instead} instead.",
            FutureWarning,
            stacklevel=2,
        )
        vars(module).update({offered: find(offered) for offered in names})
        return vars(module)[asked]

    vars(module).update(__getattr__=ask, __dir__=lambda: sorted(names), __all__=list(names))
    return module
