"""The vocabulary of fixes and switches: kinds of bugs, patterns of module names, parts of qualified names, values."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

KINDS = ("security", "crash", "silent", "loading", "training", "removed-api", "api", "performance")
"""The kinds of bugs, in the order of lists: security comes first."""

_WILD = re.compile(r"[*?[]")


def covers(pattern: str, module: str) -> bool:
    """Whether a pattern matches the name of a module; ``*.basic_var`` also matches a top-level ``basic_var``."""
    if not _WILD.search(pattern):  # the usual case: `fnmatchcase` compiles an expression for each pattern
        return module == pattern
    return fnmatchcase(module, pattern) or fnmatchcase(f".{module}", pattern)


def parts(qualname: str) -> list[str]:
    """The names in ``name``, ``Class.name`` and ``DICT['name']``."""
    if qualname.endswith("']"):
        return qualname[:-2].split("['")
    return qualname.split(".")


def shown(value: str, most: int = 100) -> str:
    """A value of a user as a message has it: on one line, without control characters, and cut.

    Args:
        value: any text.
        most: the number of characters that are kept; `PATH` for a path.
    """
    value = value if value.isprintable() else ascii(value)[1:-1]
    return value if len(value) <= most else f"{value[:most]}\N{HORIZONTAL ELLIPSIS}"


PATH = 1000


def described(error: BaseException) -> str:
    """An error as a message has it, with its type; the error may be anybody's, and raise at ``str``."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException as another:
        text = f"its text cannot be read, {type(another).__name__}"
    return f"{name}: {shown(text, PATH)}"
