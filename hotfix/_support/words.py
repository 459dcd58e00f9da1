"""The vocabulary of fixes and switches: kinds of bugs, patterns of module names, parts of qualified names."""

from __future__ import annotations

from fnmatch import fnmatchcase

KINDS = ("security", "crash", "silent", "loading", "training", "removed-api", "api", "performance")
"""The kinds of bugs, in the order of lists: security comes first."""


def covers(pattern: str, module: str) -> bool:
    """Whether a pattern matches the name of a module; ``*.basic_var`` also matches a top-level ``basic_var``."""
    return fnmatchcase(module, pattern) or fnmatchcase(f".{module}", pattern)


def parts(qualname: str) -> list[str]:
    """The names in ``name``, ``Class.name`` and ``DICT['name']``."""
    if qualname.endswith("']"):
        return qualname[:-2].split("['")
    return qualname.split(".")
