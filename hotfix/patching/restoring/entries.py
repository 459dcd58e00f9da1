"""Keys of a module's dictionary that only code gets that would fail without them."""

from __future__ import annotations

import sys
from typing import Any

from ..compiling import is_compiling
from . import need
from .descriptors import Restored


class Entries(dict):  # type: ignore[type-arg]
    """A dictionary of a module, with keys that only code gets that would fail without them.

    Args:
        original: the dictionary that it replaces.
    """

    def __init__(self, original: dict[Any, Any]) -> None:
        super().__init__(original)
        self.original = original
        self.restored: dict[Any, Restored] = {}

    def __missing__(self, key: Any) -> Any:  # pragma: no mutate block
        entry = self.restored.get(key)
        if entry is None:
            raise KeyError(key)
        if is_compiling():
            if not need.is_needed_in_trace(entry.name, entry.target, entry.fix, "key"):
                raise KeyError(key)
            return entry.value
        frame = sys._getframe(1)
        if not need.is_ours(frame):
            if not need.is_needed(frame, entry.name, "key"):
                raise KeyError(key)
            entry.give(frame)
        return entry.value

    def __reduce__(self) -> Any:
        """Copy and pickle it as a plain dictionary."""
        return dict, (dict(self),)

    def as_it_was(self) -> dict[Any, Any]:
        """The original, updated with all changes made since."""
        self.original.clear()
        self.original.update(self)
        return self.original
