"""A token is generated past the window of a layer, for a text whose beginning is padded."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "gemma2-cohere2-window-crash",
    when="tokens are generated past the sliding window, in a batch with padding",
    wrong="the mask of other tokens is that of those in the cache",
)


@TRIGGER.strikes(
    "transformers.models.gemma2.modeling_gemma2:Gemma2DecoderLayer.forward",
    "transformers.models.cohere2.modeling_cohere2:Cohere2DecoderLayer.forward",
)
def is_past_the_window(call: Call) -> Any:
    """One token at a time, where the first columns of the mask, which are taken, forbid something."""
    layer, mask, window = call.owner, call.get("attention_mask"), call.owner.sliding_window
    if not layer.is_sliding or mask is None or None in (call.get("past_key_value"), call.get("cache_position")):
        return False
    if mask.ndim == 2:
        return bool(call["hidden_states"].shape[1] > window)
    if mask.shape[-1] <= window or call["hidden_states"].shape[1] > 1:
        return False
    return (call["cache_position"][-1] >= window) & (mask[..., :window] < 0).any()


@TRIGGER.in_files
def may_have_generated(run: Files) -> Optional[bool]:
    """Files do not tell what was generated."""
    return False if run.model_types and run.model_types.isdisjoint(("gemma2", "cohere2")) else None
