"""A window that is turned off, and a text that is longer."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "use-sliding-window-false-ignored",
    when="the text is longer than a sliding window that the configuration turns off",
    wrong="the beginning of the text is masked",
)


@TRIGGER.strikes()
def masks_the_beginning(call: Call) -> bool:
    """A mask of four dimensions is taken as it is."""
    mask, config = call.get("attention_mask"), call["config"]
    window = config.sliding_window
    if window is None or getattr(config, "use_sliding_window", True) or (mask is not None and mask.dim() == 4):
        return False
    return bool((call["cache_position"] >= window).any())
