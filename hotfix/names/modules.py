"""Modules that are gone: another one stands for them, and looks for each of its names when it is asked for it."""

from __future__ import annotations

from collections.abc import Collection
from types import ModuleType
from typing import Any, Callable


def given_back(name: str, names: Collection[str], instead: str, find: Callable[[str], Any]) -> ModuleType:
    """A module that is empty until it is asked; the first time it warns.

    Args:
        name: the full name that it had.
        names: what it offers.
        instead: where to import from, for the warning.
        find: takes one of the names, and returns what it stands for.
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
        vars(module).update({one: find(one) for one in names})
        return vars(module)[asked]

    vars(module).update(__getattr__=ask, __dir__=lambda: sorted(names), __all__=list(names))
    return module
