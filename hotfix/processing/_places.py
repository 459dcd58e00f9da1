"""Modules of image and video processors."""

from __future__ import annotations

# Since 5.4.0 the fast image processors are the only ones, in the modules of SLOW.
SLOW, FAST, PIL = "image_processing_{}", "image_processing_{}_fast", "image_processing_pil_{}"
VIDEO = "video_processing_{}"


def place(model: str, kind: str, qualname: str, releases: str) -> tuple[str, str]:
    """A target in one of the modules of a model, and the releases in which it is broken."""
    return f"transformers.models.{model}.{kind.format(model)}:{qualname}", releases
