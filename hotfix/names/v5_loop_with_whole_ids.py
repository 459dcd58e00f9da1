"""``prepare_inputs_for_generation`` no longer cuts tokens that the cache has.

Symptom   Silent: a custom decoding loop, written for 4.x, computes wrong results from its second token on.
Cause     It passes all tokens together with a cache, and the method passes all of them to the model, on top of those in
          the cache. ``generate()`` says how many are new (``next_sequence_length``), and until 5.2 the positions said
          so.
Releases  5.3.0 and later
Upstream  not put back
Here      Tokens that the cache has are left out if nothing says how many are new and the attention mask is exactly as
          long as the tokens: with the cache it would be too short for them. Without a mask, and for encoder-decoder
          models, all tokens are passed, as in the release.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import scope

_OF_AUDIO = "its tokens are codes of audio, which custom loops do not pass"

FIX = Fix(
    title="A decoding loop that passes all tokens together with a cache computes wrong results from 5.3 on",
    kind="silent",
    group="removed-names",
    everyone="only for a mask that is too short for cache and tokens together: the new code tests it",
    exempt={
        f"transformers.models.{folder}.modeling_{folder}:{name}.prepare_inputs_for_generation": _OF_AUDIO
        for folder, names in {
            "musicgen": ("MusicgenForConditionalGeneration",),
            "musicgen_melody": ("MusicgenMelodyForCausalLM", "MusicgenMelodyForConditionalGeneration"),
        }.items()
        for name in names
    },
    prefilter="next_sequence_length",
)

_NAMES = ("input_ids", "next_sequence_length", "past_key_values", "attention_mask", "inputs_embeds")


@FIX.wraps(("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation", ">=5.3.0"))
def ofnew_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    """Say how many tokens are new where a loop of 4.x does not."""

    @wraps(original)
    def prepare(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(_NAMES, args)), **kwargs}
        try:
            new = new_tokens(self, given)
        except Exception as error:  # such as of a cache of the program's own
            new = None
            scope.undecided(FIX.id, error)
        if new is None:
            return original(self, *args, **kwargs)
        if len(args) > 1:
            return original(self, args[0], new, *args[2:], **kwargs)
        return original(self, *args, **{**kwargs, "next_sequence_length": new})

    return prepare


def new_tokens(model: Any, given: dict[str, Any]) -> Optional[int]:
    """How many tokens are not in the cache; None if the program or the release says so, or if it cannot be known."""
    cache: Any = given.get("past_key_values")
    cache = given.get("cache") if cache is None else cache  # its name from 5.24.0 on
    mask: Any = given.get("attention_mask")
    ids: Any = given.get("input_ids")
    if cache is None or mask is None or given.get("next_sequence_length") is not None:
        return None
    if given.get("inputs_embeds") is not None or model.config.is_encoder_decoder:
        return None
    if getattr(ids, "ndim", 0) != 2 or getattr(mask, "ndim", 0) != 2 or mask.shape != ids.shape:
        return None
    length = int(cache.get_seq_length()) if hasattr(cache, "get_seq_length") else 0
    return ids.shape[1] - length if 0 < length < ids.shape[1] else None


@FIX.recognises
def passes_all(function: ast.FunctionDef) -> bool:
    """One that cuts tokens only by the number that it is given."""
    return function.name == "prepare_inputs_for_generation" and "input_ids[:, -next_sequence_length:]" in ast.unparse(
        function
    )
