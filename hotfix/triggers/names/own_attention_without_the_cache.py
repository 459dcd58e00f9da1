"""A model with attentions or layers of the program's that take their cache by an older name, in ``generate()``."""

from __future__ import annotations

from hotfix.names.own_attention_without_the_cache import parts_without_the_cache
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "own-attention-without-the-cache",
    when="generate() uses a cache, and an attention or a layer of the program's knows it by an older name only",
    wrong="from the second token on the layer sees the last token alone",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes("transformers.generation.utils:GenerationMixin._prepare_cache_for_generation")
def loses_its_cache(call: Call) -> bool:
    """A step after the first one needs the cache."""
    settings = call["generation_config"]
    uses_it = settings.use_cache and settings.max_new_tokens != 1
    return bool(uses_it) and any(True for _ in parts_without_the_cache(call.owner))
