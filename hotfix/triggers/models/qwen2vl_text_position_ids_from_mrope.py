"""Three rows of positions, images among the tokens, neither a mask nor a cache."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger
from hotfix.triggers.models._attention import is_flash
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "qwen2vl-text-position-ids-from-mrope",
    when="there are images, and neither padding nor a cache, as in training",
    wrong="the tokens of an image attend to nothing but themselves, and the text behind it does not see it",
)


@TRIGGER.strikes()
def takes_temporal_positions(call: Call) -> Any:
    """Temporal positions of images, which do not go up by one, where they decide which tokens see each other."""
    positions, model = call.get("position_ids"), call.owner
    if positions is None or positions.ndim != 3 or positions.shape[0] != 3:
        return False
    if is_flash(model):
        return _begins_anew(positions, call.get("attention_mask"))
    use_cache = call.get("use_cache")
    use_cache = model.config.use_cache if use_cache is None else use_cache
    if use_cache and not (model.training and getattr(model, "gradient_checkpointing", False)):
        return False
    if call.get("past_key_values") is not None or call.get("attention_mask") is not None:
        return False
    has_images = (positions != positions[0]).any(0).any(-1)
    return ((positions[0].diff(dim=-1) != 1).any(-1) & has_images).any()


def _begins_anew(positions: Any, mask: Any) -> Any:
    """FlashAttention-2 takes each time of 0 for the first of a sequence; it does not look at a mask of ones.

    Of several rows only up to 4.55.0.
    """
    if positions.shape[1] > 1 and release() not in ("4.54.0", "4.54.1", "4.55.0"):
        return False
    anew = ((positions[0] == 0) != (positions == 0).all(0)).any()
    if mask is None:
        return anew
    return anew & (mask != 0).all() if getattr(mask, "ndim", 0) == 2 else False
