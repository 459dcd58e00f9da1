"""Several images, or frames, under eager attention."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "glm4v-bool-mask",
    when="there are several images or frames, under eager attention",
    wrong="every patch attends to the patches of all images of the batch",
)


@TRIGGER.strikes()
def has_several_images(call: Call) -> bool:
    """Eager attention over more than one image."""
    return bool(call.owner.config._attn_implementation == "eager" and call["cu_seqlens"].shape[0] > 2)
