"""Layers that share keys and values, and no cache."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "gemma4-kv-share-no-cache",
    when="layers share keys and values, and there is no cache, as in training",
    wrong="these layers use keys and values of their own, which nobody has trained",
)


@TRIGGER.strikes("transformers.models.gemma4.modeling_gemma4:Gemma4TextAttention.forward")
def has_none_to_share(call: Call) -> bool:
    """A layer that shares, without a cache."""
    return bool(call.owner.is_kv_shared_layer) and call.get("past_key_values") is None


@TRIGGER.in_files
def may_have_had_none(run: Files) -> Optional[bool]:
    """Files tell whether layers share, and hardly of the cache."""
    if run.setting("num_kv_shared_layers") == 0:
        return False
    return False if run.model_types and not any("gemma4" in kind for kind in run.model_types) else None
