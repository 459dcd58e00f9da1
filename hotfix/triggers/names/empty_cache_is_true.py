"""A prompt of several tokens, and a method of one's own that asks whether the cache is true."""

from __future__ import annotations

from typing import Any

from hotfix.names.empty_cache_is_true import takes_it_for_full
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "empty-cache-is-true",
    when="generate() makes a cache for a prompt of several tokens, and the model's own code asks if the cache is true",
    wrong="the model sees the last token of the prompt alone",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes("transformers.generation.utils:GenerationMixin.generate")
def is_cut(call: Call) -> bool:
    """There are no embeddings either, in code that takes them as long as there is no cache."""
    kwargs: dict[str, Any] = call["kwargs"]
    settings = call["generation_config"]
    for_all = call.owner.generation_config
    uses = kwargs.get("use_cache", getattr(settings, "use_cache", None))
    kind = kwargs.get("cache_implementation") or getattr(settings or for_all, "cache_implementation", None)
    ids = call["inputs"] if call["inputs"] is not None else kwargs.get("input_ids")
    is_one = ids is not None and ids.shape[1] == 1 and kwargs.get("inputs_embeds") is None
    is_made = kwargs.get("past_key_values") is None and kind in (None, "dynamic", "offloaded") and uses is not False
    return is_made and not is_one and takes_it_for_full(call.owner)
