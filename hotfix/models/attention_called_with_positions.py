"""An attention that is called as before 4.48, with positions, raises a TypeError; and it returns two values.

Symptom   ``TypeError: LlamaAttention.forward() missing 1 required positional argument: 'position_embeddings'``, or
          ``ValueError: not enough values to unpack (expected 3, got 2)``, from decoder layers of other projects:
          DeepSeek-VL2, MaskGCT and Metis of Amphion, deepcompressor, FlagEmbedding.
Cause     To 4.47, each attention had rotary embeddings of its own, and returned the cache as a third value. Since then,
          the model computes cosine and sine once for all layers.
Releases  4.48.0 and later
Upstream  ms-swift#3338, DeepSeek-VL2#106, Amphion#466, deepcompressor#114; dropped on purpose, after a warning
Here      A call of the attention without position embeddings gets three values, as in 4.47.1: cosine and sine are those
          of its ``position_ids``, and weights are None where they are not asked for. Without positions they count from
          0; where a cache already has keys, the error stays. A layer of Gemma 2 gets its embeddings in the same way. A
          program that handles the error gets it.
"""

from __future__ import annotations

import ast
import sys
from functools import wraps
from inspect import signature
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.models.attention_without_position_embeddings import rotary
from hotfix.patching import scope
from hotfix.pattern import occurs

# The folder of each model, and the beginning of the names of its classes.
MODELS = {
    "cohere": "Cohere",
    "gemma": "Gemma",
    "gemma2": "Gemma2",
    "llama": "Llama",
    "mistral": "Mistral",
    "mixtral": "Mixtral",
    "olmo": "Olmo",
    "olmo2": "Olmo2",
    "phi": "Phi",
    "phi3": "Phi3",
    "qwen2": "Qwen2",
    "starcoder2": "Starcoder2",
}

_NEWER = "its attention has never computed cosine and sine itself, or is newer"
_MISSING = "forward() missing 1 required positional argument: 'position_embeddings'"

FIX = Fix(
    title="TypeError: LlamaAttention.forward() missing 1 required positional argument: 'position_embeddings'",
    kind="removed-api",
    group="removed-names",
    upstream=("ms-swift#3338", "DeepSeek-VL2#106", "Amphion#466", "deepcompressor#114"),
    prefilter="position_embeddings",
    errors=(
        f"TypeError: …Attention.{_MISSING}",
        "TypeError: …Attention.forward() missing 2 required positional arguments: 'position_embeddings' and "
        "'attention_mask'",
        f"TypeError: Gemma2DecoderLayer.{_MISSING}",
    ),
    everyone="only without position embeddings, where the release raises: the new code tests it",
    exempt={
        "transformers.models.*:*": _NEWER,
        "transformers.models.minimax_m3_vl.modeling_minimax_m3_vl:MiniMaxM3VLVisionAttention.forward": _NEWER,
        "transformers.models.deepseek_v4.modeling_deepseek_v4:DeepseekV4Attention.forward": _NEWER,
    },
)

_OF_GEMMA2 = "self.pre_feedforward_layernorm(__STATES)"
_CACHES = ("past_key_value", "past_key_values", "cache")


@FIX.wraps(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}Attention.forward", ">=4.48.0,<=5.24.0")
        for folder, name in MODELS.items()
    )
)
def as_before(original: Callable[..., Any]) -> Callable[..., Any]:
    """Compute cosine and sine for a call without them, and return the cache as a third value."""

    @wraps(original)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "position_embeddings" in kwargs or len(args) > 1:
            return original(self, *args, **kwargs)
        is_handled = scope.is_handled_around(FIX.id, TypeError)
        words = None if is_handled else _completed(self, original, args, kwargs)
        if words is None:
            return original(self, *args, **kwargs)
        output, weights = original(self, *args, **words)
        cache = next((words[name] for name in _CACHES if words.get(name) is not None), None)
        return output, weights if kwargs.get("output_attentions") else None, cache

    return forward


@FIX.wraps(("transformers.models.gemma2.modeling_gemma2:Gemma2DecoderLayer.forward", ">=4.48.0,<=5.24.0"))
def layer_as_before(original: Callable[..., Any]) -> Callable[..., Any]:
    """Compute cosine and sine for a layer whose call must have them."""

    @wraps(original)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "position_embeddings" in kwargs or len(args) > 1:
            return original(self, *args, **kwargs)
        is_own = scope.is_own(FIX.id, self.self_attn, "forward")  # another attention may need no embeddings
        is_handled = scope.is_handled_around(FIX.id, TypeError)
        words = _completed(self.self_attn, original, args, kwargs) if is_own and not is_handled else None
        if words is None:
            return original(self, *args, **kwargs)
        return original(self, *args, **words)

    return forward


def _completed(attention: Any, original: Callable[..., Any], args: Any, kwargs: Any) -> Optional[dict[str, Any]]:
    """The named arguments of a call, with position embeddings; None if its positions are unknown.

    Args:
        attention: the attention, whose configuration decides.
        original: the release's function.
        args: the hidden states, of shape (texts, tokens, width), unless they are named.
        kwargs: the other arguments.
    """
    hidden = args[0] if args else kwargs.get("hidden_states")
    words = {"attention_mask": None, **kwargs}
    named = next((name for name in _CACHES if name in signature(original).parameters), "")
    for name in _CACHES:
        if name in words and name != named:
            words.setdefault(named, words.pop(name))
    positions = words.get("position_ids")
    if positions is None and words.get("cache_position") is not None:
        positions = words["cache_position"][None]
    if hidden is None or (positions is None and _has_keys(words.get(named), attention)):
        return None
    modeling = sys.modules[original.__module__]
    name = original.__qualname__.partition("Attention")[0].partition("DecoderLayer")[0]
    words["position_embeddings"] = rotary(attention, getattr(modeling, f"{name}RotaryEmbedding"), hidden, positions)
    return words


def _has_keys(cache: Any, attention: Any) -> bool:
    """Whether a cache has keys of a layer, or is none of which this is known."""
    if cache is None:
        return False
    return not hasattr(cache, "get_seq_length") or bool(cache.get_seq_length(attention.layer_idx))


@FIX.recognises
def demands_embeddings(function: ast.AST) -> bool:
    """Whether position embeddings come behind the hidden states, and cosine and sine are theirs alone."""
    if not isinstance(function, ast.FunctionDef) or function.name != "forward":
        return False
    names = [argument.arg for argument in function.args.args][1:3]
    computes = occurs("cos, sin = position_embeddings", function)
    return names == ["hidden_states", "position_embeddings"] and (computes or occurs(_OF_GEMMA2, function))
