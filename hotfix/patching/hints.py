"""What an error says of a name that is gone, and that a fix which is off would give back: one line more.

A module that lacks such names gets a class of its own, derived from the one that it has, with a descriptor for each of
these names and for nothing else. Attributes that the module has come first, as ever; for any other name Python finds
in that class what it found before: nothing. So a failing ``hasattr`` costs what it did. The error keeps its type and
its text; the line is a note (PEP 678), before Python 3.11 it stands below the text.

``from module import name`` throws away an AttributeError that the module has raised, and makes an ImportError of its
own. Where a descriptor is asked by such a statement, it raises the error which that would have made, with the line.

Limits. ``module.name`` says more for lazy packages, ``transformers`` above all, and not for other modules: there Python
makes the AttributeError itself. A module that is gone as a whole says nothing either.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Optional

_MARK = "_hotfix_names_that_are_gone"


class Hints:
    """The modules of this process that have such a class."""

    def __init__(self) -> None:
        self._modules: list[tuple[types.ModuleType, type]] = []

    def __len__(self) -> int:
        return len(self._modules)

    def put(self, module: types.ModuleType, lines: Mapping[str, str]) -> None:
        """Have the errors about these names say more.

        Args:
            module: the module that lacks them.
            lines: what is said, by name. A module that says something already is left alone.
        """
        base = type(module)
        if not lines or is_hinting(module):
            return
        members: dict[str, Any] = {name: _Gone(name, line) for name, line in lines.items()}
        members.update(__module__=base.__module__, __qualname__=base.__qualname__, __reduce__=_reduce)
        members[_MARK] = base
        if hasattr(base, "__getattr__"):
            members["__getattr__"] = _asking(base, lines)
        try:
            module.__class__ = type(base.__name__, (base,), members)
        except TypeError:  # a module of a kind that cannot have another class goes without
            return
        self._modules.append((module, base))

    def clear(self) -> None:
        """Give every module the class that it had, unless it has got another one since."""
        for module, base in self._modules:
            if vars(type(module)).get(_MARK) is base:
                module.__class__ = base
        self._modules.clear()


def is_hinting(module: object) -> bool:
    """Whether a module has a class of this kind."""
    return _MARK in vars(type(module))


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
        frame = sys._getframe(1)
        if frame.f_code.co_code[frame.f_lasti] != _import_from():
            raise AttributeError(self.name)  # Python makes another one of it, or asks a lazy package
        if f"{module.__name__}.{self.name}" in sys.modules:  # which is what the statement takes then
            raise AttributeError(self.name)
        answer = getattr(vars(owner)[_MARK], "__getattr__", None)
        if answer is not None:  # a lazy package: it may have got the name since
            with suppress(AttributeError):
                return answer(module, self.name)
        raise _with(_cannot_import(module, self.name), self.line)


def _asking(base: Any, lines: Mapping[str, str]) -> Any:
    """The ``__getattr__`` of a lazy package, with the line for names that are gone."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - its name
        try:
            return base.__getattr__(self, name)
        except AttributeError as error:
            if name in lines:
                _with(error, lines[name])
            raise

    return __getattr__


def _cannot_import(module: types.ModuleType, name: str) -> ImportError:
    file = getattr(module, "__file__", None)
    where = file if isinstance(file, str) else "unknown location"
    error = ImportError(
        f"cannot import name {name!r} from {module.__name__!r} ({where})", name=module.__name__, path=file
    )
    if hasattr(error, "name_from"):  # of Python 3.12
        error.name_from = name
    return error


def _with(error: Any, line: str) -> Any:
    if hasattr(error, "add_note"):
        error.add_note(line)
    else:
        error.args = (f"{error.args[0]}\n{line}", *error.args[1:])
        if isinstance(error, ImportError):
            error.msg = error.args[0]
    return error


def _import_from(known: list[int] = []) -> int:  # noqa: B006 - it is found once
    if not known:
        from opcode import opmap

        known.append(opmap["IMPORT_FROM"])
    return known[0]


def _reduce(self: Any) -> Any:
    """How it is pickled: as its own class would be; a plain module, which has no way, by its name."""
    base = vars(type(self))[_MARK]
    if base is types.ModuleType:
        from importlib import import_module

        return import_module, (self.__name__,)
    made = base.__reduce__(self)
    return (base, *made[1:]) if made[0] is type(self) else made
