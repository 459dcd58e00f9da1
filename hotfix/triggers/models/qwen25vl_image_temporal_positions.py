"""An image, or an image and a video."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwen25vl-image-temporal-positions",
    when="there is an image",
    wrong="the temporal position of an image is that of a frame some seconds into a video",
)


@TRIGGER.strikes()
def has_an_image(call: Call) -> bool:
    """An image, in a model that counts more than one step a second, or with the seconds of videos."""
    images = call.get("image_grid_thw")
    if images is None or not images.shape[0]:
        return False
    return call.get("second_per_grid_ts") is not None or call.owner.config.vision_config.tokens_per_second != 1
