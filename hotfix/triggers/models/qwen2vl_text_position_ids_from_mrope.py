"""Three rows of positions, images among the tokens, neither a mask nor a cache."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "qwen2vl-text-position-ids-from-mrope",
    when="there are images, and neither an attention mask nor a cache, as in training without padding",
    wrong="the tokens of an image attend to nothing but themselves, and the text behind it does not see it",
)


@TRIGGER.strikes()
def takes_temporal_positions(call: Call) -> Any:
    """Temporal positions that do not go up by one, where they decide which tokens see each other."""
    positions, model = call.get("position_ids"), call.owner
    if positions is None or positions.ndim != 3 or positions.shape[0] != 3 or call.get("attention_mask") is not None:
        return False
    use_cache = call.get("use_cache")
    use_cache = model.config.use_cache if use_cache is None else use_cache
    if use_cache and not (model.training and getattr(model, "gradient_checkpointing", False)):
        return False
    if call.get("past_key_values") is not None:
        return False
    return (positions[0].diff(dim=-1) != 1).any()
