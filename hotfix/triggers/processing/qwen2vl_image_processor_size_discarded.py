"""A size that is not the default."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.processing._limits import EDGES, given

TRIGGER = Trigger(
    "qwen2vl-image-processor-size-discarded",
    when="an image processor is made with a size that is not the default of its class",
    wrong="the size is ignored, and pictures get the default number of tokens",
)

# Defaults of the constructors; for fast processors the default is an attribute of the class.
_QWEN = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
_GLM = {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 15000}


@TRIGGER.strikes()
def is_given_another_size(call: Call) -> bool:
    """A size with an edge that no limit replaces, and that is not the default; GLM-4V knows no limits."""
    is_glm = "Glm" in type(call.owner).__name__
    default = getattr(call.owner, "size", None) or (_GLM if is_glm else _QWEN)
    return _is_lost(call.get("size"), {} if is_glm else given(call), default)


@TRIGGER.in_files
def is_configured(run: Files) -> Optional[bool]:
    """Whether loading the processor ignores the size in its configuration."""
    is_glm = any("glm" in name for name in run.model_types)
    size, limits = run.processor.get("size"), {} if is_glm else run.processor
    return True if isinstance(size, dict) and _is_lost(size, limits, _GLM if is_glm else _QWEN) else None


def _is_lost(size: Any, limits: Any, default: Any) -> bool:
    if size is None or not all(edge in size for edge in EDGES.values()):
        return False  # a size without one of them raises an error
    if not (size["longest_edge"] or 0) >= 56 * 56:
        return False  # the edges of a picture
    return any(limits.get(name) is None and size[edge] != default[edge] for name, edge in EDGES.items())
