"""A decoding loop of one's own has no ``cache_position``.

Symptom   ``KeyError: 'cache_position'`` in ``_update_model_kwargs_for_generation``, after the first token of a loop of
          before 4.43 (MusicMagus, and others that decode in a way of their own); ``TypeError: 'NoneType' object is not
          subscriptable`` in ``prepare_inputs_for_generation`` with a cache.
Cause     Since then, both read the positions of the new tokens, which ``generate()`` makes before its first step.
Releases  4.43.0 to 5.2.0, and 4.46.0 to 5.2.0 for the second; for later ones see `v5-loop-with-whole-ids`
Upstream  MusicMagus#7 (not put back)
Here      The key is left out, as it was, and the positions are counted from the cache in each step. Models with a
          method of their own for the second (Llama and others up to 4.45) are not repaired behind a cache. Where the
          program handles the error, nothing changes.
"""

from __future__ import annotations

import ast
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import scope

_MIXIN = "transformers.generation.utils:GenerationMixin"
_KEY = "cache_position"

FIX = Fix(
    title="KeyError: 'cache_position'",
    kind="removed-api",
    upstream=("MusicMagus#7",),
    group="removed-names",
    errors=("KeyError: 'cache_position'",),
    everyone="only for arguments without the key, which these releases always read: the new code tests it",
    prefilter=_KEY,
    exempt={
        "transformers.models.qwen2_audio.modeling_qwen2_audio:Qwen2AudioForConditionalGeneration"
        "._update_model_kwargs_for_generation": "few programs have a loop for this model",
    },
)


@FIX.wraps((f"{_MIXIN}._update_model_kwargs_for_generation", ">=4.43.0,<5.3.0"))
def without_positions(original: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the key out where the arguments have none; the cache says how many tokens it has."""

    def update(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(("outputs", "model_kwargs"), args)), **kwargs}
        arguments: Any = given.get("model_kwargs")
        is_missing = isinstance(arguments, dict) and arguments.get(_KEY) is None
        error = TypeError if is_missing and _KEY in arguments else KeyError
        if not is_missing or scope.is_handled_around(FIX.id, error):
            return original(self, *args, **kwargs)
        import torch

        arguments[_KEY] = torch.zeros(1, dtype=torch.int64)
        updated = original(self, *args, **kwargs)
        updated.pop(_KEY, None)
        return updated

    return update


@FIX.wraps(
    (f"{_MIXIN}.prepare_inputs_for_generation", ">=4.46.0,<5.3.0"),
    on_error=(
        "TypeError: 'NoneType' object is not subscriptable",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "TypeError: object of type 'NoneType' has no len()",
    ),
)
def of_new_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    """Count the positions of the tokens that the cache does not have."""

    def prepare(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(("input_ids", "past_key_values", "attention_mask", "inputs_embeds", _KEY), args)), **kwargs}
        ids: Any = given.get("input_ids")
        cache = given.get("past_key_values")
        length = 0 if cache is None else _length(self, cache)
        is_known = getattr(ids, "ndim", 0) == 2 and given.get("inputs_embeds") is None and len(args) <= 5
        if given.get(_KEY) is not None or length is None or not is_known:
            return original(self, *args, **kwargs)
        import torch

        mask = given.get("attention_mask")
        is_of_all = mask is not None and mask.shape[-1] > ids.shape[1] and not self.config.is_encoder_decoder
        is_cut = ids.shape[1] <= length or (length > 0 and is_of_all)
        end = length + ids.shape[1] if is_cut else ids.shape[1]
        positions = torch.arange(length, end, device=ids.device)
        others = {name: value for name, value in kwargs.items() if name != _KEY}
        return original(self, *args[:4], **others, cache_position=positions)

    return prepare


def _length(model: Any, cache: Any) -> Optional[int]:
    """The number of tokens in a cache, or None for a form of cache that needs no positions."""
    if hasattr(cache, "get_seq_length"):
        return int(cache.get_seq_length())
    if isinstance(cache, tuple) and cache and getattr(model, "_supports_cache_class", True):
        return int(cache[0][0].shape[-2])
    return None


@FIX.recognises
def reads_positions(function: ast.FunctionDef) -> bool:
    """The library's general ones, if they read positions of new tokens without a test whether there are any."""
    text = ast.unparse(function)
    if function.name == "_update_model_kwargs_for_generation":
        return "model_kwargs.pop('cache_position')" in text and "'cache_position' in model_kwargs" not in text
    return "input_ids_key" in text and (
        "_cache_dependant_input_preparation(" in text or "input_ids[:, cache_position]" in text
    )
