"""A model whose own code takes its cache by the older name, in ``generate()`` with a cache."""

from __future__ import annotations

from typing import Optional

from hotfix.names import overrides
from hotfix.names.own_forward_with_past_key_values import name_in_prepare, name_of_the_cache
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "own-forward-with-past-key-values",
    when="generate() uses a cache, and the model's own code knows it as past_key_values only",
    wrong="from the second token on the model sees the last token alone, or the prompt again",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes("transformers.generation.utils:GenerationMixin._prepare_cache_for_generation")
def loses_its_cache(call: Call) -> Optional[bool]:
    """The library prepares the inputs, or something that calls its method; or something older, from embeddings."""
    settings = call["generation_config"]
    if not settings.use_cache or settings.max_new_tokens == 1:
        return False
    if call["model_kwargs"].get("inputs_embeds") is not None and name_in_prepare(call.owner) is not None:
        return True
    prepare = overrides.below_wrappers(type(call.owner).prepare_inputs_for_generation)
    is_the_librarys = overrides.is_of_the_library(prepare) or "super" in prepare.__code__.co_names
    return is_the_librarys and name_of_the_cache(call.owner) is not None
