"""What an error says of a name that is gone, and that a fix which is off would restore: one line more.

A module that lacks such names gets a class of its own (see `hotfix.patching.asked`), with a descriptor for each of
these names and for nothing else. What the module has comes first, and what its own ``__getattr__`` answers; for any
other name Python finds in that class what it found before: nothing. So a failing ``hasattr`` costs what it did. The
error keeps its type and its text; the line is a note (PEP 678), before Python 3.11 it is below the text.

``from module import name`` discards an AttributeError that the module has raised, and makes an ImportError of its
own. A descriptor that such a statement asks raises that error itself, with the line.

Limits. ``module.name`` says more for lazy packages, ``transformers`` above all, and not for other modules: there Python
makes the AttributeError itself. A module that is gone as a whole says nothing either.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Optional

from ..errors import Refusal
from . import asked

_LINES = "_hotfix_lines"


class Hints:
    """The modules of this process that have such descriptors."""

    def __init__(self) -> None:
        self._gone: list[tuple[types.ModuleType, str, _Gone]] = []
        self._restored: list[asked.Restored] = []
        self._modules: list[types.ModuleType] = []

    def __len__(self) -> int:
        return len({id(module) for module, _, _ in self._gone})

    def put(self, module: types.ModuleType, lines: Mapping[str, str]) -> None:
        """Have the errors about these names say more.

        Args:
            module: the module that lacks them.
            lines: what is said, by name. A module that says something already is left alone.
        """
        if not lines or is_hinting(module):
            return
        base = type(module)
        try:
            kind: Any = asked.class_of(module, makes=True)
        except Refusal:  # it goes without
            return
        for name, line in lines.items():
            descriptor = vars(kind).get(name)
            if descriptor is None:
                descriptor = _Gone(name, line)
                asked.put(module, name, descriptor)
                self._gone.append((module, name, descriptor))
            elif isinstance(descriptor, asked.Restored):
                descriptor.line = line
                self._restored.append(descriptor)
        self._modules.append(module)
        setattr(kind, _LINES, lines)
        if hasattr(base, "__getattr__"):
            kind.__getattr__ = _with_lines(vars(kind)[asked.BASE], lines)

    def clear(self) -> None:
        """Take the descriptors out; a module without any has the class that it had, unless it has another one since."""
        for module in self._modules:
            kind = asked.class_of(module)
            for member in (_LINES, "__getattr__"):
                if kind is not None and member in vars(kind):
                    delattr(kind, member)
        for module, name, descriptor in self._gone:
            asked.take(module, name, descriptor)
        self._gone.clear()
        self._modules.clear()
        for restored in self._restored:
            restored.line = ""
        self._restored.clear()


def is_hinting(module: object) -> bool:
    """Whether the errors of a module say more of some names."""
    return getattr(type(module), _LINES, None) is not None


# ---------------------------------------------------------------------------------------------------------------------
# Below: the errors.


class _Gone:
    """A name of a module that is not there: a descriptor that has nothing to give."""

    def __init__(self, name: str, line: str) -> None:
        self.name = name
        self.line = line

    def __get__(self, module: Optional[types.ModuleType], owner: type) -> Any:  # pragma: no mutate block
        # It looks at the statement that has called it, and a mutant is called through another one.
        if module is None:
            return self
        if not asked.imports(sys._getframe(1)):
            raise AttributeError(self.name)  # Python makes another one of it, or asks the module's own `__getattr__`
        with suppress(AttributeError):
            return asked.own_answer(module, self.name)
        raise asked.cannot_import(module, self.name, self.line)


def _with_lines(base: Any, lines: Mapping[str, str]) -> Any:
    """The ``__getattr__`` of a lazy package, with the line for names that are gone."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - its name
        try:
            return base.__getattr__(self, name)
        except AttributeError as error:
            if name in lines:
                asked.with_line(error, lines[name])
            raise

    return __getattr__
