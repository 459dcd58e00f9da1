"""Labels of several images in one call."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "reduced-labels-of-the-last-map",
    when="do_reduce_labels, with the segmentation maps of several images",
    wrong="the labels are those of the last image only",
)


@TRIGGER.strikes()
def has_several_maps(call: Call) -> bool:
    """Whether the labels of more than one image are reduced."""
    return bool(call["do_reduce_labels"]) and len(call["images"]) > 1
