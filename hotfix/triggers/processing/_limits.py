"""Shared by the triggers of image processors: limits of pixels per picture."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call

EDGES = {"min_pixels": "shortest_edge", "max_pixels": "longest_edge"}
"""The names of the limits as arguments, and in a size."""


def given(call: Call) -> dict[str, Any]:
    """The limits that a call is given, by name."""
    return {name: call.get(name) for name in EDGES if call.get(name) is not None}


def differs(limits: dict[str, Any], size: Any) -> Optional[bool]:
    """Whether limits are others than those in a size; None where there is no such size."""
    return None if size is None else any(size[EDGES[name]] != limit for name, limit in limits.items())
