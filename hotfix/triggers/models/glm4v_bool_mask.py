"""Several images, or frames, under eager attention."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "glm4v-bool-mask",
    when="there are several images or frames, under eager attention",
    wrong="every patch attends to the patches of all images of the batch",
)


@TRIGGER.strikes()
def has_several_images(call: Call) -> bool:
    """Eager attention over more than one image."""
    return bool(call.owner.config._attn_implementation == "eager" and call["cu_seqlens"].shape[0] > 2)


@TRIGGER.in_files
def may_have_been_eager(run: Files) -> Optional[bool]:
    """Only eager attention; files do not tell of images."""
    return None if run.attention in (None, "eager") else False
