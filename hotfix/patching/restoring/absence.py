"""The errors for a missing name, as Python itself raises them."""

from __future__ import annotations

import sys
import types
from typing import Any

from ..compiling import is_compiling


def missing(instance: Any, owner: type, name: str) -> AttributeError:
    """The error that Python itself would raise."""
    subject = owner if instance is None else instance
    if isinstance(subject, types.ModuleType):
        text = f"module {subject.__name__!r} has no attribute {name!r}"
    elif instance is None:
        text = f"type object {owner.__name__!r} has no attribute {name!r}"
    else:
        text = f"{type(instance).__name__!r} object has no attribute {name!r}"
    error = AttributeError(text)
    if sys.version_info >= (3, 10) and not is_compiling():
        error.name, error.obj = name, subject
    return error


def cannot_import(module: types.ModuleType, name: str, line: str) -> Exception:
    """The error of ``from module import name``, with one more line; a submodule of that name comes first.

    Args:
        module: the module.
        name: what it lacks.
        line: the line: a note, or part of the text before Python 3.11.

    Returns:
        The error; an AttributeError if such a statement finds the name without the module's help.
    """
    if f"{module.__name__}.{name}" in sys.modules:  # the statement takes this one then
        return AttributeError(name)
    file = getattr(module, "__file__", None)
    where = file if isinstance(file, str) else "unknown location"
    error = ImportError(
        f"cannot import name {name!r} from {module.__name__!r} ({where})", name=module.__name__, path=file
    )
    if hasattr(error, "name_from"):  # since Python 3.12
        error.name_from = name
    shown: Exception = with_line(error, line)
    return shown


def with_line(error: Any, line: str) -> Any:
    """Add one line to an error."""
    if hasattr(error, "add_note"):
        error.add_note(line)
    else:
        error.args = (f"{error.args[0]}\n{line}", *error.args[1:])
        if isinstance(error, ImportError):
            error.msg = error.args[0]
    return error
