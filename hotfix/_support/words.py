"""What fixes and switches say alike: the kinds of bugs, names of modules and of what is in them."""

from __future__ import annotations

from fnmatch import fnmatchcase

KINDS = ("security", "crash", "silent", "loading", "training", "removed-api", "api", "performance")
"""The kinds of bugs, in the order in which lists show them: what lets others in stands first."""


def covers(pattern: str, module: str) -> bool:
    """Whether a pattern stands for a module; ``*.basic_var`` stands for a top-level ``basic_var``, too."""
    return fnmatchcase(module, pattern) or fnmatchcase(f".{module}", pattern)


def parts(qualname: str) -> list[str]:
    """The names in ``name``, ``Class.name`` and ``DICT['name']``."""
    if qualname.endswith("']"):
        return qualname[:-2].split("['")
    return qualname.split(".")
