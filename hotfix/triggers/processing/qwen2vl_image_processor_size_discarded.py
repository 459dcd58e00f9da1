"""A processor is made with a size that is not the default."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger
from hotfix.triggers.processing._limits import limits

TRIGGER = Trigger(
    "qwen2vl-image-processor-size-discarded",
    when="an image processor is made with another size than the default, by its configuration or an argument",
    wrong="pictures are resized as if it had the default, to other numbers of tokens",
)

_QWEN = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
_GLM = {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 15000}


@TRIGGER.strikes()
def has_a_size(call: Call) -> bool:
    """A size with both edges, not the default, and not replaced by limits."""
    size = call.get("size")
    if size is None or limits(call) == 2 or not {"shortest_edge", "longest_edge"} <= set(size):
        return False
    return dict(size) != (_GLM if "glm4v" in call.target else _QWEN)
