"""A custom decoding loop has no ``cache_position``.

Symptom   ``KeyError: 'cache_position'`` in ``_update_model_kwargs_for_generation``, after the first token of a loop of
          before 4.43 (MusicMagus, and others that decode in a way of their own); with a cache ``TypeError: 'NoneType'
          object is not subscriptable`` in ``prepare_inputs_for_generation``, up to 4.45 ``AttributeError: 'NoneType'
          object has no attribute 'shape'``.
Cause     Since then, both read the positions of the new tokens, which ``generate()`` makes before its first step.
Releases  4.43.0 to 5.2.0; for later ones see `v5-loop-with-whole-ids`
Upstream  MusicMagus#7 (not put back)
Here      The key is left out, as it was, and the positions are counted from the cache in each step. Of the models with
          a method of their own for the second, the well-known decoders of text are repaired. Where the program
          handles the error, nothing changes.
"""

from __future__ import annotations

import ast
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import scope

_MIXIN = "transformers.generation.utils:GenerationMixin"
_KEY = "cache_position"
_PREPARES = "prepare_inputs_for_generation"
_ARGUMENTS = ("input_ids", "past_key_values", "attention_mask", "inputs_embeds", _KEY)
DECODERS = """
    cohere:Cohere gemma:Gemma llama:Llama mistral:Mistral mixtral:Mixtral olmo:Olmo persimmon:Persimmon phi:Phi
    qwen2:Qwen2 qwen2_moe:Qwen2Moe stablelm:StableLm starcoder2:Starcoder2
"""
"""Folder and name of each decoder with a method of its own, in 4.43 to 4.45."""
_OTHERS = """
    bamba:Bamba bloom:Bloom cohere2:Cohere2 dbrx:Dbrx falcon_h1:FalconH1 gemma2:Gemma2 gpt_neox:GPTNeoX
    gpt_neox_japanese:GPTNeoXJapanese granite:Granite granitemoehybrid:GraniteMoeHybrid jetmoe:JetMoe mllama:Mllama
    nemotron:Nemotron olmoe:Olmoe phi3:Phi3 zamba:Zamba zamba2:Zamba2
"""
_WITH_IMAGES = "idefics2:Idefics2 idefics3:Idefics3 moshi:Moshi qwen2_5_vl:Qwen2_5_VL qwen2_vl:Qwen2VL"


def _methods(models: str, head: str) -> list[str]:
    """The methods of models, as targets."""
    parts = [model.split(":") for model in models.split()]
    return [f"transformers.models.{folder}.modeling_{folder}:{name}For{head}.{_PREPARES}" for folder, name in parts]


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
        **dict.fromkeys(_methods(_OTHERS, "CausalLM"), "no release has it right, or few programs have a loop for it"),
        **dict.fromkeys(_methods(_WITH_IMAGES, "ConditionalGeneration"), "positions depend on images or sound"),
    },
)


@FIX.wraps((f"{_MIXIN}._update_model_kwargs_for_generation", ">=4.43.0,<5.3.0"))
def without_positions(original: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the key out where the arguments have none; the cache says how many tokens it has."""

    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
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
    (f"{_MIXIN}.{_PREPARES}", ">=4.46.0,<5.3.0"),
    *((method, ">=4.43.0,<4.46.0") for method in _methods(DECODERS, "CausalLM")),
    on_error=(
        "TypeError: 'NoneType' object is not subscriptable",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
        "TypeError: object of type 'NoneType' has no len()",
    ),
)
def of_new_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    """Count the positions of the tokens that the cache does not have."""

    def prepare(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(_ARGUMENTS, args)), **kwargs}
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
    if "input_ids_key" in text:
        return "_cache_dependant_input_preparation(" in text or f"input_ids[:, {_KEY}]" in text
    named = tuple(argument.arg for argument in function.args.args[1:6])
    return named == _ARGUMENTS and f"input_ids[:, {_KEY}]" in text and f"if {_KEY} is" not in text
