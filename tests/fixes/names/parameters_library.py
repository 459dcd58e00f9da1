"""A library with functions that have lost a parameter, and with a hook that passes a newer one.

`test_adapters` loads this file as a module of transformers.
"""

from __future__ import annotations

from typing import Any

calls: list[Any] = []


def save(model: Any, trial: Any, *, quiet: bool = False) -> Any:
    """It had ``metrics=None`` behind ``trial``."""
    calls.append((model, trial, quiet))
    if trial == "raise":
        raise TypeError("save() got an unexpected keyword argument 'metrics'")
    return model, trial, quiet


class Base:
    """A class to inherit from."""

    def hook(self, inputs: Any, mask: Any = None, offsets: Any = None) -> Any:
        """The library's own method."""
        return "library", inputs, mask, offsets

    def by_name(self, offsets: Any = None) -> Any:
        """A function of the library that passes the newer argument by name."""
        return self._hook(1, mask=2, offsets=offsets)

    def by_place(self, offsets: Any = None) -> Any:
        """The same by position."""
        return self._hook(1, 2, offsets)

    def _hook(self, *args: Any, **kwargs: Any) -> Any:
        from hotfix.names.parameters_adapted import by_signature, lacks

        return by_signature(self, "hook")(*args, **kwargs) if lacks(self, "hook") else self.hook(*args, **kwargs)
