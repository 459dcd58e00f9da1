"""What the triggers of image processors share."""

from __future__ import annotations

from hotfix.trigger import Call


def limits(call: Call) -> int:
    """How many of the two limits of pixels a call is given."""
    return sum(call.get(name) is not None for name in ("min_pixels", "max_pixels"))
