"""``prepare_inputs_for_generation`` no longer cuts tokens that the cache has.

Symptom   Silent: a custom decoding loop, written for 4.x, computes wrong results from its second token on.
Cause     It passes all tokens together with a cache, and the method passes all of them to the model, on top of those in
          the cache. ``generate()`` says how many are new (``next_sequence_length``), and until 5.2 the positions said
          so.
Releases  5.3.0 and later
Upstream  not put back
Here      Tokens that the cache has are left out if nothing says how many are new and the attention mask is exactly as
          long as the tokens: with the cache it would be too short for them. That is so only for the library's own
          ``eager`` and ``sdpa`` attention, which read such a mask; FlashAttention may drop it, and a function of the
          program's may ignore it. If the tokens do not begin with those of the previous call for this cache, they are
          a new part of the text, and none is left out. Without a mask, and for encoder-decoder models, all tokens are
          passed, as in the release.
"""

from __future__ import annotations

import ast
import sys
from functools import wraps
from typing import Any, Callable, Optional
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.patching import scope

_OF_AUDIO = "its tokens are codes of audio, which custom loops do not pass"

FIX = Fix(
    title="A decoding loop that passes all tokens together with a cache computes wrong results from 5.3 on",
    kind="silent",
    group="removed-names",
    everyone="only for a mask that is too short for cache and tokens together, and attention of the library's that "
    "reads it: the new code tests it",
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

_previous: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The tokens of the last call for each cache."""

_NAMES = ("input_ids", "next_sequence_length", "past_key_values", "attention_mask", "inputs_embeds")


@FIX.wraps(("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation", ">=5.3.0"))
def with_the_number(original: Callable[..., Any]) -> Callable[..., Any]:
    """Say how many tokens are new where a loop of 4.x does not."""

    @wraps(original)
    def prepare(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(_NAMES, args)), **kwargs}
        try:
            new = new_tokens(self, given)
        except Exception as error:  # such as of a cache of the program's own
            new = None
            scope.undecided(FIX.id, error)
        remember(given)
        if new is None:
            return original(self, *args, **kwargs)
        if len(args) > 1:
            return original(self, args[0], new, *args[2:], **kwargs)
        return original(self, *args, **{**kwargs, "next_sequence_length": new})

    return prepare


def new_tokens(model: Any, given: dict[str, Any]) -> Optional[int]:
    """How many tokens are not in the cache; None if the program or the release says so, or if it cannot be known."""
    cache, mask = cache_of(given), given.get("attention_mask")
    ids: Any = given.get("input_ids")
    if cache is None or mask is None or given.get("next_sequence_length") is not None:
        return None
    if given.get("inputs_embeds") is not None or model.config.is_encoder_decoder:
        return None
    if getattr(ids, "ndim", 0) != 2 or getattr(mask, "ndim", 0) != 2 or mask.shape != ids.shape:
        return None
    length = int(cache.get_seq_length()) if hasattr(cache, "get_seq_length") else 0
    if not 0 < length < ids.shape[1] or not reads_masks(model) or not continues(cache, ids, length):
        return None
    return int(ids.shape[1]) - length


def cache_of(given: dict[str, Any]) -> Any:
    """The cache among the arguments; it is called ``cache`` from 5.24.0 on."""
    cache = given.get("past_key_values")
    return given.get("cache") if cache is None else cache


def reads_masks(model: Any) -> bool:
    """Whether the library's own attention runs, in a form that reads a mask of any length."""
    config = model.config.get_text_config(decoder=True)
    name = config._attn_implementation
    if name not in ("eager", "sdpa"):
        return False
    tables = (
        sys.modules["transformers.modeling_utils"].ALL_ATTENTION_FUNCTIONS,
        sys.modules["transformers.masking_utils"].ALL_MASK_ATTENTION_FUNCTIONS,
    )
    parts = [part for part in model.modules() if "attention" in type(part).__name__.lower()]
    return all(scope.is_own(FIX.id, table.get(name)) for table in tables) and all(
        scope.is_own(FIX.id, part, "forward") for part in parts
    )


def continues(cache: Any, ids: Any, length: int) -> bool:
    """Whether each row of tokens begins with a row of the previous call for this cache, in any order as by beam search.

    Args:
        cache: the cache; true if its tokens are not known.
        ids: of shape (batch, tokens).
        length: how many tokens are in the cache.
    """
    before = _previous.get(cache)
    if before is None:
        return True
    length = min(length, before.shape[1])
    rows = before[None, :, :length].to(ids.device) == ids[:, None, :length]
    return bool(rows.all(-1).any(-1).all())


def remember(given: dict[str, Any]) -> None:
    """Keep the tokens of a call as long as its cache lives; ``generate()`` says how many are new, and is left out."""
    cache = cache_of(given)
    ids: Any = given.get("input_ids")
    if getattr(ids, "ndim", 0) != 2 or not hasattr(cache, "get_seq_length"):
        return
    if given.get("next_sequence_length") is None:
        try:
            _previous[cache] = ids.detach().clone()
        except TypeError:  # the cache has no hash, or takes no weak reference
            return


@FIX.recognises
def passes_all(function: ast.FunctionDef) -> bool:
    """One that cuts tokens only by the number that it is given."""
    return function.name == "prepare_inputs_for_generation" and "input_ids[:, -next_sequence_length:]" in ast.unparse(
        function
    )
