"""What is installed, for functions that say so."""

from __future__ import annotations

from typing import Optional


def has(package: str) -> bool:
    """Whether a module exists, with a distribution of the same name."""
    from importlib.util import find_spec

    return find_spec(package) is not None and version(package) is not None


def version(distribution: str) -> Optional[str]:
    """The version of a distribution; None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
