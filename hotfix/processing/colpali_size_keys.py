"""Video processors of Qwen2-VL refuse a size that repeats its limits.

Symptom   ``ValueError: size must have one of the following set of keys: ({'width', 'height'}, ...), got
          dict_keys(['max_pixels', 'min_pixels', 'longest_edge', 'shortest_edge'])`` from ``from_pretrained()``: files
          of ColQwen2, UI-TARS and others.
Cause     Processors of earlier releases also wrote the limits into ``size``, and the video processor reads the file
          of the image processor.
Releases  4.52.1 to 4.53.3
Upstream  colpali#290, colpali#293, fixed in 4.54.0
Here      Limits that are also given outside of ``size`` are removed from it, as in 4.54.0. If only ``size`` has them,
          it is refused, as there. A program that handles the ValueError gets it.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Qwen2VLVideoProcessor raises: size must have one of the following set of keys, got min_pixels",
    kind="loading",
    upstream=("colpali#290", "colpali#293"),
    fixed_in="4.54.0",
    errors=(
        "ValueError: size must have one of the following set of keys: …, "
        "got dict_keys(['max_pixels', 'min_pixels', 'longest_edge', 'shortest_edge'])",
    ),
    everyone="only for a size that repeats its limits, which is refused, unless the program handles that",
)

FIX.edits(
    ("transformers.models.qwen2_vl.video_processing_qwen2_vl:Qwen2VLVideoProcessor.__init__", ">=4.52.1,<=4.53.3"),
    old="super().__init__(**kwargs)",
    new=f"""
        from {__name__} import without_limits
        super().__init__(**without_limits(kwargs))
    """,
    beside="self.size = {'shortest_edge': self.min_pixels, 'longest_edge': self.max_pixels}",
)


def without_limits(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Remove limits from the size that the arguments of a video processor also have by name.

    Args:
        kwargs: the arguments.
    """
    size = kwargs.get("size")
    repeated = [name for name in ("min_pixels", "max_pixels") if kwargs.get(name) is not None]
    if not isinstance(size, dict) or not any(name in size for name in repeated):
        return kwargs
    if scope.is_handled(FIX.id, ValueError, sys._getframe(1)):
        return kwargs
    return {**kwargs, "size": {name: value for name, value in size.items() if name not in repeated}}
