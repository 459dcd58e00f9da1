"""What is known of a fix before its module is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from ..fix import Fix


@dataclass(frozen=True)
class Entry:
    """What the index knows of a fix without importing its module.

    Attributes:
        id, title, kind, optin, group, fixed_in: as in `Fix`.
        module: the module that defines it as ``FIX``.
        targets: the broken releases (a specifier, or an empty string) by ``module:qualname``.
    """

    id: str
    title: str
    kind: str
    module: str
    optin: bool
    group: str
    fixed_in: str
    targets: Mapping[str, str]

    def load(self) -> Fix:
        """Import the module of the fix."""
        fix = import_module(self.module).FIX
        assert isinstance(fix, Fix)
        return fix
