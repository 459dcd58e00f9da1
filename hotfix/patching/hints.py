"""One extra line in the error for a removed name that a disabled fix would restore.

A module that lacks such names gets its own class (see `hotfix.patching.restoring`), with a descriptor for each of these
names and for nothing else. The module's own names come first, then the results of its own ``__getattr__``. For any
other name Python finds nothing in that class, as before, so a failing ``hasattr`` costs no more. The error keeps its
type and its text; the line is a note (PEP 678), or a second line of the text before Python 3.11.

``from module import name`` discards an AttributeError from the module and raises its own ImportError. When such a
statement reads a descriptor, the descriptor raises that ImportError itself, with the line.

An error that the program handles has no line: the program may print or compare it.

Limits. ``module.name`` shows the line for lazy packages, ``transformers`` above all, but not for other modules, where
Python raises the AttributeError itself. Errors for modules that were removed as a whole have no such line.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Optional

from .. import asking as _asking
from ..errors import Refusal
from . import restoring

_LINES = "_hotfix_lines"


class Hints:
    """The modules of this process that have such descriptors."""

    def __init__(self) -> None:
        self._gone: list[tuple[types.ModuleType, str, _Gone]] = []
        self._modules: list[types.ModuleType] = []

    def __len__(self) -> int:
        return len({id(module) for module, _, _ in self._gone})

    def put(self, module: types.ModuleType, lines: Mapping[str, str]) -> None:
        """Add a line to the errors for these names.

        Args:
            module: the module that lacks them.
            lines: the lines, by name. A module that has such lines already is left alone.
        """
        if not lines or is_hinting(module):
            return
        base = type(module)
        try:
            kind: Any = restoring.class_of(module, makes=True)
        except Refusal:  # its errors stay as they are
            return
        for name, line in lines.items():
            descriptor = vars(kind).get(name)
            if descriptor is None:
                descriptor = _Gone(name, line)
                restoring.put(module, name, descriptor)
                self._gone.append((module, name, descriptor))
        self._modules.append(module)
        setattr(kind, _LINES, lines)
        if hasattr(base, "__getattr__"):
            kind.__getattr__ = _with_lines(vars(kind)[restoring.BASE], lines)

    def clear(self) -> None:
        """Remove the descriptors. A module without any gets its old class back, unless its class was changed since."""
        for module in self._modules:
            kind = restoring.class_of(module)
            for member in (_LINES, "__getattr__"):
                if kind is not None and member in vars(kind):
                    delattr(kind, member)
        for module, name, descriptor in self._gone:
            restoring.take(module, name, descriptor)
        self._gone.clear()
        self._modules.clear()


def is_hinting(module: object) -> bool:
    """Whether a module has such lines for some names."""
    return getattr(type(module), _LINES, None) is not None


# ---------------------------------------------------------------------------------------------------------------------
# Below: the errors.


class _Gone:
    """A descriptor without a value, for a name that a module lacks."""

    def __init__(self, name: str, line: str) -> None:
        self.name = name
        self.line = line

    def __get__(self, module: Optional[types.ModuleType], owner: type) -> Any:  # pragma: no mutate block
        # This method inspects the calling statement; with a mutant, that is a statement of mutmut's wrapper.
        if module is None:
            return self
        frame = sys._getframe(1)
        if not restoring.imports(frame) or not _asking.would_end(AttributeError, frame, self.name, of_module=True):
            raise AttributeError(self.name)  # Python replaces it, or calls the module's own `__getattr__`
        with suppress(AttributeError):
            return restoring.own_answer(module, self.name)
        raise restoring.cannot_import(module, self.name, self.line)


def _with_lines(base: Any, lines: Mapping[str, str]) -> Any:
    """The ``__getattr__`` of a lazy package, with the line for removed names."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - its name
        try:
            return base.__getattr__(self, name)
        except AttributeError as error:
            if name in lines and _asking.would_end(AttributeError, 2, name, of_module=True):
                restoring.with_line(error, lines[name])
            raise

    return __getattr__
