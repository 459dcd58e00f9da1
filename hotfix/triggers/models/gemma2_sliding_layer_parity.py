"""A text that is longer than the window."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "gemma2-sliding-layer-parity",
    when="a text is longer than the sliding window",
    wrong="layers that should see all of it see the window alone, and the other way round",
)


@TRIGGER.strikes("transformers.models.gemma2.modeling_gemma2:Gemma2Model.forward")
def is_past_the_window(call: Call) -> bool:
    """As many tokens, with those that are in the cache, as the mask tells."""
    given = call.get("input_ids") if call.get("input_ids") is not None else call["inputs_embeds"]
    mask = call.get("attention_mask")
    longest = max(given.shape[1], mask.shape[-1] if mask is not None else 0)
    return bool(longest > call.owner.config.sliding_window)


@TRIGGER.in_files
def may_have_been_past_the_window(run: Files) -> Optional[bool]:
    """Files do not tell how long texts were."""
    return False if run.model_types and "gemma2" not in run.model_types else None
